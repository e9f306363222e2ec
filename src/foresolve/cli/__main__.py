"""`python -m foresolve.cli`."""

from foresolve.cli.app import main

main()
