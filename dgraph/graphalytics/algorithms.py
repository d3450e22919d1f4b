"""The six algorithms as Graphalytics defines them, and their values in its output format."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

UNREACHABLE = 2**63 - 1  # the BFS level of unreached vertices
# The benchmark's name of an algorithm -> the operation, its column of values, and the parameters for its arguments.
ALGORITHMS: dict[str, tuple[str, str, dict[str, str]]] = {
    "bfs": ("bfs", "distance", {"source": "source-vertex"}),
    "cdlp": ("cdlp", "label", {"max_iter": "max-iterations"}),
    "lcc": ("lcc", "lcc", {}),
    "pr": ("pagerank", "pagerank", {"alpha": "damping-factor", "max_iter": "num-iterations"}),
    "sssp": ("sssp", "distance", {"source": "source-vertex"}),
    "wcc": ("wcc", "component", {}),
}


def run(graph: Any, algorithm: str, parameters: Mapping[str, Any], **options: Any) -> Any:
    """The result of an algorithm with the parameters of a data set."""
    name, _, arguments = ALGORITHMS[algorithm]
    operation = getattr(import_module(f"dgraph.ops.{name}"), name)
    if algorithm == "pr":
        options["tol"] = 0  # run exactly num-iterations
    if algorithm == "lcc":
        options.pop("engine", None)  # lcc is not a vertex program
    return operation(graph, **{argument: parameters[one] for argument, one in arguments.items()}, **options)


def values_of(algorithm: str, table: pd.DataFrame) -> pd.DataFrame:
    """The columns `vertex` and `value` that are written and compared."""
    values = table[ALGORITHMS[algorithm][1]].to_numpy()
    if algorithm == "bfs":
        reached = np.isfinite(values)
        values = np.where(reached, np.where(reached, values, 0).astype(np.int64), UNREACHABLE)
    return pd.DataFrame({"vertex": table["vertex"], "value": values})
