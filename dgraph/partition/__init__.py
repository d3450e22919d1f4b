"""Partitions at rest: placement, edges, proxies, blocks on disk. Plain arrays, independent of programs and Dask."""
