"""What tests of programs and clusters take: verifiers, strategies for Hypothesis, and clusters of unlike workers."""

from typing import Any


def __getattr__(name: str) -> Any:
    """The name `mixed_cluster`, for which Dask's clusters are imported only when it is asked for."""
    if name == "mixed_cluster":
        from dgraph.testing.clusters import mixed_cluster

        return mixed_cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
