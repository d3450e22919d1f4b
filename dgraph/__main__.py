"""The command line as `python -m dgraph`, for environments where the command is not on the path."""

from dgraph.cli.app import main

main()
