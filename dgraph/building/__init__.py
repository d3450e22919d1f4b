"""Building a graph: from the user's frames to partitions, and graphs saved on disk. Independent of programs."""
