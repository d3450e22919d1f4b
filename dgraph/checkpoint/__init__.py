"""Checkpoints, from which a run can resume elsewhere. A checkpoint has one piece per partition.

`checkpoint.py` holds the user's option, `piece.py` encodes a piece as bytes, `folder.py` and `memory_store.py` store
pieces, `keeper.py` is the workers' part, and `fingerprint.py` distinguishes graphs. `vertex_state/` determines what a
piece contains.
"""
