"""Conversion from and to graphs of NetworkX, igraph and SciPy."""
