"""Damaged files by the thousand: is each refused with one clear error, or read soundly? `make fuzz`."""
