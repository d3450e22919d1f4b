"""Engines, one per file: the order in which vertices fire, a loop of a few lines. Independent of transport and Dask."""
