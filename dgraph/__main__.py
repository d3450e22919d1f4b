"""`python -m dgraph`: the command line, where the installed command is not on the path."""

from dgraph.cli.app import main

main()
