"""Long use of few objects, by many threads and processes: `python -m tests.soak`, or `make soak`."""
