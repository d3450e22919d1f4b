"""Numbers that describe a whole graph, similarity, and paths. Operations, with a row for each vertex, are in `ops/`."""
