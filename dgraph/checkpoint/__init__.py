"""Checkpoints, from which a run can resume elsewhere. A checkpoint has one piece per partition.

`piece.py` encodes a piece as bytes, `folder.py` and `memory_store.py` store pieces, and `keeper.py` says where a run
stores them and has the workers' part. `vertex_state/` determines what a piece contains.
"""
