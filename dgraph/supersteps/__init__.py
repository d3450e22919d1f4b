"""The chain of steps that all workers take together, on threads or as Dask tasks. Independent of what a step does."""
