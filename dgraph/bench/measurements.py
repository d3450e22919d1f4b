"""What is measured of one trial: seconds, memory, traffic, and the throughput that others publish."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dgraph.testing.verify import Edges

# what a figure is called in tables, and its unit; columns of the report have their own names
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
    "edges": ("edges looked at", ""),
    "epochs": ("epochs", ""),
    "rmse": ("RMSE", ""),
    "held_out": ("RMSE held out", ""),
    "elapsed": ("since the start", "s"),
}


def of_graph(graph: Any) -> dict[str, Any]:
    """The figures of a graph's partitions as they are now; `build` are the seconds of all steps that led to them."""
    report = graph.partitions.report
    return {
        "build": sum(report.seconds.values()),
        "partition_bytes": int(report.frame["bytes"].sum()),
        "replication": report.replication,
        "num_parts": graph.num_parts,
        "num_vertices": graph.num_vertices,
        "num_edges": graph.num_edges,
    }


def of_run(result: Any, seconds: float, graph: Any, edges: Edges, operation: str) -> dict[str, Any]:
    """The figures of a run that took so many seconds; numbers in its report are added up over rounds and partitions."""
    report = pd.DataFrame(result.report)
    numbers = report.drop(columns=["superstep", "partition"]).select_dtypes(["number", "bool"])
    found: dict[str, Any] = {"run": seconds, "engine_used": result.report.options["engine"], "rounds": result.rounds}
    found |= {name: _plain(value) for name, value in numbers.sum().items()}
    errors = report.iloc[-1].reindex(["rmse", "held_out"]).dropna()  # of factors: those after the last epoch
    found = {name: value for name, value in found.items() if name not in ("rmse", "held_out")} | errors.to_dict()
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
    """A number of NumPy as one of Python, whole if it is."""
    return int(value) if float(value).is_integer() else float(value)
