"""What foresolve is asked; the other peers are shared (`benchmarks/_harness/layers/peers`)."""
