"""Solvers for breadth-first search and shortest paths."""
