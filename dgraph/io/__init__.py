"""Readers and writers of graphs, one format per file, and generators. Building partitions is up to `building/`.

`read_edge_list` and `write_edge_list` dispatch to all formats: text in `text/`, columns in `columnar/`, graphs of
other libraries in `libraries/`, generators in `generate/`.

Names are imported on first use, so that a module that needs one of them does not load every reader.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "edge_list": "EdgeList",
    "formats": "FORMATS format_of read_edge_list write_edge_list",
    "lazy_edges": "lazy_edge_list",
    "libraries.igraph": "from_igraph to_igraph",
    "libraries.networkx": "from_networkx to_networkx",
    "libraries.scipy_sparse": "from_scipy to_scipy",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
