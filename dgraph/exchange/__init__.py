"""Messages between partitions: numbered, and complete or an error. What they mean is up to `vertex_state/`.

`exchange.py` defines what a step may do with it, `mail.py` how buffers travel, and `encoding.py` what they contain.
`local.py` and `dask.py` are the transports; the latter, with `run_registry.py`, alone needs distributed. What a client
asks the scheduler is in `cluster/scheduler_calls.py`.
"""
