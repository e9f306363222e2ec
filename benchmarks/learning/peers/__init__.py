"""One module a package. `train(method, seed, saved)` gives the record: times, and normalized regret on the test set."""
