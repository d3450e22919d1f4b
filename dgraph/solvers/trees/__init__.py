"""Solvers for spanning forests, and for what a depth-first search tells of cuts."""
