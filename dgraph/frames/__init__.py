"""Data frames as users pass them in (pandas, Dask, Arrow, cuDF). Independent of ids and partitions."""
