"""The command line, with what all commands share. The commands themselves are in `commands/`."""
