"""Speed, memory and accuracy, measured: each benchmark is a package run from the repository's root, see README.md."""
