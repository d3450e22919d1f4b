"""Readers and writers: one format a file, `read_edge_list` and `write_edge_list` in front of them.

Names are looked up when they are first used, so that a part of dgraph that needs one record loads no reader.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "EdgeList": "edge_list",
    "FORMATS": "registry",
    "format_of": "registry",
    "from_igraph": "igraph",
    "from_networkx": "networkx",
    "from_scipy": "sparse",
    "lazy_edge_list": "lazy",
    "read_edge_list": "registry",
    "to_igraph": "igraph",
    "to_networkx": "networkx",
    "to_scipy": "sparse",
    "write_edge_list": "registry",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
