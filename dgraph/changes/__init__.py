"""Graphs that change: batches of edges beside a graph, and merging them. Rows are spliced in `partition/`."""
