"""Which method? Six kinds of problems in two sizes, fifteen methods, five seeds."""
