"""Communities: finding them, reading labels, how good they are, the graph of communities; and trusses."""
