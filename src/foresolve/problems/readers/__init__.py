"""Models of other tools: files, HiGHS, cvxpy."""
