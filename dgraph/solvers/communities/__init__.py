"""Solvers for Louvain and Leiden, sums over the edges of each community, and the graph of communities."""
