"""Tools for testing programs and clusters: verifiers, Hypothesis strategies and stand-ins, independent of pytest."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Import `mixed_cluster`, and with it Dask's clusters, when it is first used."""
    if name == "mixed_cluster":
        from dgraph.testing.clusters import mixed_cluster

        return mixed_cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
