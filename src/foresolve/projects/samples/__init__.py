"""Small made-up data with which a project begins."""
