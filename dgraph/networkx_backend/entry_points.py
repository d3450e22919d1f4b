"""What NetworkX finds by the entry points of this package. Nothing heavy is imported until a function is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dgraph.networkx_backend.function_table import FUNCTIONS, NOTES

_MODULE = "dgraph.networkx_backend"


class NetworkxBackend:
    """The backend ``"dgraph"``: NetworkX's functions as attributes, and what NetworkX asks before it calls them.

    Examples
    --------
    >>> from dgraph.networkx_backend.entry_points import backend
    >>> hasattr(backend, "pagerank"), hasattr(backend, "draw")
    (True, False)
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Import one of NetworkX's functions when it is first looked up."""
        if name not in FUNCTIONS:
            raise AttributeError(f"the NetworkX backend of dgraph has no function {name!r}")
        function = import_module(f"{_MODULE}.calls").call_of(name)
        setattr(self, name, function)
        return function

    def convert_from_nx(self, graph: Any, **wanted: Any) -> Any:
        """Convert a NetworkX graph, with the edge attributes that NetworkX says are wanted."""
        return import_module(f"{_MODULE}.conversion").convert_from_nx(graph, **wanted)

    def convert_to_nx(self, result: Any, *, name: str | None = None) -> Any:
        """Convert a graph of this backend to NetworkX; other results are already what NetworkX returns."""
        return import_module(f"{_MODULE}.conversion").convert_to_nx(result)

    def can_run(self, name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
        """True, or the reason why a function is not available for these arguments."""
        return import_module(f"{_MODULE}.choices").can_run(name, args, kwargs)

    def should_run(self, name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
        """True, or the reason why NetworkX itself is likely to be faster."""
        return import_module(f"{_MODULE}.choices").should_run(name, args, kwargs)


backend = NetworkxBackend()


def backend_info() -> dict[str, Any]:
    """Describe the backend, for the documentation of NetworkX and for its choice of backends.

    Examples
    --------
    >>> from dgraph.networkx_backend.entry_points import backend_info
    >>> backend_info()["backend_name"]
    'dgraph'
    """
    return {
        "backend_name": "dgraph",
        "project": "dask-dgraph",
        "package": "dgraph",
        "short_summary": "Compiled, multithreaded algorithms, on one machine or a Dask cluster.",
        "functions": {name: {"additional_docs": NOTES[name]} if name in NOTES else {} for name in FUNCTIONS},
    }
