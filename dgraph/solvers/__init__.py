"""Hand-written algorithms that solve an operation on one partition in one compiled call, without Dask or messages."""
