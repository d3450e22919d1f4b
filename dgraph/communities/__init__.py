"""Divisions of the vertices into communities: finding them, reading labels, their quality, the graph of communities."""
