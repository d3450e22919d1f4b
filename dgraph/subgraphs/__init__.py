"""Graphs cut out of graphs: of some vertices or edges, turned around, or simplified. The cutting is in `building/`."""
