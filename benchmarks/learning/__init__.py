"""Training methods of foresolve, and PyEPO's, on the same instances."""
