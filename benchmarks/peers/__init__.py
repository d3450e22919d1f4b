"""Peers: other libraries with the same operations, one per file, each in separate processes.

`library.py` defines what the file of a Python library contains: how a graph is loaded, how each operation runs, and
what its answer means. `child.py` runs one such file in a separate process, with a Python that has that library.
`gap.py`, `gemini.py` and `graphx.py` start external programs. To the benchmark, each is a `Peer`.
"""
