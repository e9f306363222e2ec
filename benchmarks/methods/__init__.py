"""Which method? Six kinds of problems in two sizes, fourteen methods, five seeds."""
