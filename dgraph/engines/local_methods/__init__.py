"""Partitions that reach a local fixed point by the program's own algorithm, with or without common rounds."""
