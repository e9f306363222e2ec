"""Processes that are killed at random moments and go on as users do: `python -m tests.kill`."""
