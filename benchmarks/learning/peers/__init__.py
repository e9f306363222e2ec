"""One module a package. `train(method, seed, saved)` gives the record: times, and normalised regret on the test set."""
