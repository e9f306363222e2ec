"""Submodular maximization: the multilinear layer and lazy greedy, against others on the same inputs."""
