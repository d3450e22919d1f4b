"""Engines, one per file. Each is a short loop that sets the order in which vertices fire, independent of Dask."""
