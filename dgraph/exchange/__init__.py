"""Messages between partitions: numbered, complete or an error, the same between threads and between workers of Dask.

`exchange.py` says what a step may do with it, `mail.py` how buffers travel, `encoding.py` what is in them. `local.py`
and `dask.py` are the transports; the latter, with `registry.py`, `client.py` and `frames.py`, alone needs distributed.
"""
