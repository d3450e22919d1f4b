"""The commands of `dgraph`, one per file, each named as users type it."""
