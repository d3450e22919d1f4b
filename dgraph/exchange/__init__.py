"""Messages between partitions, numbered so that a loss is an error. `vertex_state/` determines what they mean.

`exchange.py` defines how a step uses the exchange, `mail.py` how buffers travel and what they contain, and
`proxy_post.py` what they are for. Among many partitions, small ones are made, sent and opened together (`bundle.py`).
`local.py` and `dask.py` are the transports; only `dask.py` and `run_registry.py` need distributed. The calls of a
client to the scheduler are in `cluster/scheduler.py`.
"""
