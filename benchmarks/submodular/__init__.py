"""Submodular maximisation: the multilinear layer and lazy greedy, against others on the same inputs."""
