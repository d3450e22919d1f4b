"""Kernels for communities: sums over the edges of each community, and the graph of communities."""
