"""Peers: other libraries that do what we do, one a file, each in processes of its own.

`library.py` says what the file of a Python library holds: how a graph is loaded, how each operation runs, and what its
answer means. `child.py` runs one such file in its own process, with a Python that has that library. `gap.py`,
`gemini.py` and `graphx.py` start programs that were built, or come, elsewhere. To the benchmark all are a `Peer`.
"""
