"""Blocks of edges on their way through a device: their size, and the stages they pass. Daemons are in `agents/`."""
