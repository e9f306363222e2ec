"""Thousands of random instances against references of their own: `python -m tests.stress`, or `make stress`."""
