"""Solvers for connected components, cores and triangles."""
