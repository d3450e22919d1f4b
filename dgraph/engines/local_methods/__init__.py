"""Partitions that reach a local fixed point by the program's own algorithm. Engines themselves are one folder up.

Each file has one method: its description for programs, its state, its kernels, and its bulk-asynchronous rounds where
they differ.
"""
