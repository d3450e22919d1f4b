"""Vertex programs: their declarations, what their functions read, and what they mean. Independent of partitions."""
