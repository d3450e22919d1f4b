"""Numbers that describe a whole graph. Operations, with a row for each vertex, are in `ops/`."""
