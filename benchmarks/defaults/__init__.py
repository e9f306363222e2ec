"""What training on decisions gives with defaults alone: `make bench-defaults`."""
