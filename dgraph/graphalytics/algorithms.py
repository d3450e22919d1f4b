"""The six algorithms as Graphalytics means them, and their values as it writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

UNREACHABLE = 2**63 - 1  # a BFS level


def run(graph: Any, algorithm: str, parameters: Mapping[str, Any], **options: Any) -> Any:
    """The result of an algorithm with the parameters of a data set."""
    return _RUN[algorithm](graph, parameters, options)


def values_of(algorithm: str, table: pd.DataFrame) -> pd.DataFrame:
    """The columns `vertex` and `value`, as they are written and compared."""
    column = _COLUMNS[algorithm]
    values = table[column].to_numpy()
    if algorithm == "bfs":
        reached = np.isfinite(values)
        values = np.where(reached, np.where(reached, values, 0).astype(np.int64), UNREACHABLE)
    return pd.DataFrame({"vertex": table["vertex"], "value": values})


def _bfs(graph: Any, given: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from dgraph.ops.bfs import bfs

    return bfs(graph, given["source-vertex"], **options)


def _cdlp(graph: Any, given: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from dgraph.ops.cdlp import cdlp

    return cdlp(graph, max_iter=given["max-iterations"], **options)


def _lcc(graph: Any, given: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from dgraph.ops.lcc import lcc

    return lcc(graph, **{name: value for name, value in options.items() if name != "engine"})  # no vertex program


def _pr(graph: Any, given: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from dgraph.ops.pagerank import pagerank

    return pagerank(graph, alpha=given["damping-factor"], max_iter=given["num-iterations"], tol=0, **options)


def _sssp(graph: Any, given: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from dgraph.ops.sssp import sssp

    return sssp(graph, given["source-vertex"], **options)


def _wcc(graph: Any, given: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from dgraph.ops.wcc import wcc

    return wcc(graph, **options)


_RUN = {"bfs": _bfs, "cdlp": _cdlp, "lcc": _lcc, "pr": _pr, "sssp": _sssp, "wcc": _wcc}
_COLUMNS = {"bfs": "distance", "cdlp": "label", "lcc": "lcc", "pr": "pagerank", "sssp": "distance", "wcc": "component"}
NAMES = tuple(_RUN)
