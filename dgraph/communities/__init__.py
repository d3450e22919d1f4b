"""Divisions of the vertices into communities: reading labels, measuring their quality, the graph of communities."""
