"""What a run keeps so that it can go on elsewhere: a piece per partition. What pieces hold is up to `vertex_state/`.

`checkpoint.py` is what a user asks for, `piece.py` a piece as bytes, `folder.py` and `memory_store.py` where pieces
lie, `keeper.py` what a worker does, `fingerprint.py` how a graph is told from another. What a piece holds is up to
`vertex_state/`.
"""
