"""Messages between partitions: numbered, complete or an error, the same between threads and between workers of Dask.

`exchange.py` says what a step may do with it, `mail.py` how buffers travel, `encoding.py` what is in them. `local.py`
and `dask.py` are the transports; the latter, with `run_registry.py` and `wire_format.py`, alone needs distributed. What
a client asks the scheduler is in `cluster/scheduler_calls.py`.
"""
