"""The chain of steps that all workers take together, on threads or as Dask tasks, whatever a step does."""
