"""Where tasks run: the workers, what they can do, waiting for them, losing them. Independent of edges and programs."""
