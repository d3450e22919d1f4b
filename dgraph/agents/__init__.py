"""A worker's agent and its daemons, which run blocks of edges on devices. The blocks themselves are in `pipeline/`."""
