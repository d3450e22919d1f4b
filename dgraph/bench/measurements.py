"""The figures of a trial: seconds, memory, traffic, and throughput as commonly published."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dgraph.testing.verify import Edges

# the title of each figure in tables, and its unit; columns of the report keep their names
TITLES = {
    "load": ("load", "s"),
    "build": ("build", "s"),
    "run": ("run", "s"),
    "collect": ("to a frame", "s"),
    "rounds": ("rounds", ""),
    "exchanges": ("exchanges", ""),
    "bytes": ("sent", "B"),
    "moved": ("to daemons", "B"),
    "pipeline": ("stages", "s"),
    "peak": ("peak memory", "B"),
    "partition_bytes": ("partitions", "B"),
    "replication": ("replication", ""),
    "evps": ("EVPS", "/s"),
    "teps": ("TEPS", "/s"),
    "busy": ("busy", "s"),
    "idle": ("idle", "s"),
    "imbalance": ("max/mean busy", ""),
    "idle_share": ("idle share", "%"),
    "edges": ("edges read", ""),
    "epochs": ("epochs", ""),
    "rmse": ("RMSE", ""),
    "held_out": ("RMSE held out", ""),
    "elapsed": ("since the start", "s"),
}


def graph_figures(graph: Any) -> dict[str, Any]:
    """The figures of a graph's current partitions; `build` is the total seconds of the steps that built them."""
    report = graph.partitions.report
    return {
        "build": sum(report.seconds.values()),
        "partition_bytes": int(report.frame["bytes"].sum()),
        "replication": report.replication,
        "num_parts": graph.num_parts,
        "num_vertices": graph.num_vertices,
        "num_edges": graph.num_edges,
    }


def run_figures(result: Any, seconds: float, graph: Any, edges: Edges, operation: str) -> dict[str, Any]:
    """The figures of a run; numbers in its report are summed over rounds and partitions."""
    report = pd.DataFrame(result.report)
    numbers = report.drop(columns=["superstep", "partition"]).select_dtypes(["number", "bool"])
    totals = numbers.drop(columns=["rmse", "held_out"], errors="ignore").sum()
    errors = pd.Series(result.totals).reindex(["rmse", "held_out"]).dropna()  # of the factors of `factorize`
    found: dict[str, Any] = {"run": seconds, "engine_used": result.report.options["engine"], "rounds": result.rounds}
    found |= {name: _plain(value) for name, value in totals.items()} | errors.to_dict()
    busy, idle = (report.groupby("partition")[name].sum() for name in ("busy", "idle"))
    found["imbalance"] = float(busy.max() / busy.mean()) if len(busy) and busy.mean() else 1.0
    found["idle_share"] = float(idle.sum() / (idle.sum() + busy.sum())) if busy.sum() else 0.0
    found["evps"] = (graph.num_vertices + graph.num_edges) / seconds
    arcs = len(edges.arcs[0])
    found["epochs"] = found.get("edges", 0) / arcs if arcs else 0.0
    if operation in ("bfs", "sssp"):
        reached = np.isfinite(result.by_number("distance"))
        found["teps"] = int(np.count_nonzero(reached[edges.source])) / seconds
    return found


def _plain(value: Any) -> int | float:
    """A NumPy number as a Python number: an int if it is whole."""
    return int(value) if float(value).is_integer() else float(value)
