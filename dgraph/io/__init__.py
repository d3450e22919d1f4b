"""Readers and writers of graphs, one format per file, and generators. Building partitions is up to `building/`.

`read_edge_list` and `write_edge_list` dispatch to all formats: text in `text/`, columns in `columnar/`, graphs of
other libraries in `libraries/`, generators in `generate/`.

Names are imported on first use, so that a module that needs one of them does not load every reader.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "EdgeList": "edge_list",
    "FORMATS": "formats",
    "format_of": "formats",
    "from_igraph": "libraries.igraph",
    "from_networkx": "libraries.networkx",
    "from_scipy": "libraries.scipy_sparse",
    "lazy_edge_list": "lazy_edges",
    "read_edge_list": "formats",
    "to_igraph": "libraries.igraph",
    "to_networkx": "libraries.networkx",
    "to_scipy": "libraries.scipy_sparse",
    "write_edge_list": "formats",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
