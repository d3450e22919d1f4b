"""Vertex ids: from the user's ids to vertex numbers and back. Placing vertices is up to the folder above."""
