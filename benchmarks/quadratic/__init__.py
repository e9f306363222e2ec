"""Quadratic programs: foresolve's layer and its peers on the same inputs."""
