"""What can surprise in a graph, counted, and what is done with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.building import assembly
from dgraph.building.remarks import REMARKS
from dgraph.cluster.retry import retry_on_loss
from dgraph.frames.any_frame import local, named, to_pandas
from dgraph.partition import placement

if TYPE_CHECKING:
    from dgraph.graph import Graph


@dataclass(frozen=True)
class Counts:
    """What was counted of the edges as listed, and of the graph that the rules make of them. None: the graph has no
    weights."""

    directed: bool
    listed: int  # edges as listed
    edges: int  # after the rules
    vertices: int
    loops: int  # among the listed edges
    repeats: int  # listed edges beyond the first between the same ends
    isolated: int  # vertices at which no edge is left
    dangling: int  # vertices without an edge out, the isolated ones included
    kept_loops: int = 0  # those that the rules leave
    kept_repeats: int = 0
    missing_weights: int | None = None
    negative_weights: int | None = None
    zero_weights: int | None = None
    components: str = "unknown"  # which `dg.wcc` finds, with more work than all of these


@dataclass(frozen=True)
class Validation:
    """What `G.validate()` tells: counts, what the graph's own rules made of them, and what each operation does."""

    counts: Counts
    rules: list[str]
    operations: dict[str, str] = field(default_factory=dict)
    blocks: int = 0  # of a saved graph, all of whose checksums are right

    def __repr__(self) -> str:
        rows = [f"{name.replace('_', ' '):>16}  {_shown(value)}" for name, value in asdict(self.counts).items()]
        if self.blocks:
            rows.append(f"{'saved blocks':>16}  {self.blocks}, all as they were written")
        notes = [*self.rules, *(f"{operation}: {line}" for operation, line in self.operations.items())]
        return "\n".join([*rows, "", *notes]) if notes else "\n".join(rows)


@retry_on_loss
def validate(graph: Graph) -> Validation:
    """Read the whole graph once and count."""
    blocks = graph.listed.saved.verify() if graph.listed.saved is not None else 0
    workers, size = graph.workers, graph.num_vertices
    listed = graph.listed.as_listed()
    once: dict[str, Any] = {"repeats": "first", "directed": graph.directed, "skip_loops": False}
    pairs = sum(workers.get([workers.call(len, c) for c in assembly.merge_repeats(workers, listed, size, **once)]))
    options: dict[str, Any] = {"out": True, "into": True, **graph.listed.rules.arc_options}
    tasks = [workers.call(placement.degrees, chunk, size, **options) for chunk in graph.listed.by_number()]
    (degrees,) = workers.bring([workers.reduce(placement.total, tasks)])
    weights, loops, repeats = _weights(graph), graph.listed.num_loops, graph.listed.num_listed - pairs
    counts = Counts(
        directed=graph.directed,
        listed=graph.listed.num_listed,
        edges=graph.num_edges,
        vertices=size,
        loops=loops,
        repeats=repeats,
        isolated=int(((degrees.out == 0) & (degrees.into == 0)).sum()),
        dangling=int((degrees.out == 0).sum()),
        kept_loops=0 if graph.listed.rules.skip_loops else loops,
        kept_repeats=repeats if graph.listed.rules.repeats == "keep" else 0,
        **weights,
    )
    remarks = {operation: "; ".join(remark(counts)) for operation, remark in REMARKS.items()}
    return Validation(counts, _rules(graph, counts), {op: told for op, told in remarks.items() if told}, blocks)


def _weights(graph: Graph) -> dict[str, Any]:
    if graph.weight is None:
        return {}
    pieces = graph.listed.pieces_with([graph.weight])
    found = graph.workers.get([graph.workers.call(_count_weights, piece, graph.weight) for piece in pieces])
    missing, negative, zero = np.sum(found, axis=0).tolist()
    return {"missing_weights": missing, "negative_weights": negative, "zero_weights": zero}


def _count_weights(piece: Any, name: str) -> tuple[int, int, int]:
    column = named(to_pandas(local(piece)), name)
    values = pd.to_numeric(column, errors="coerce")
    return int(values.isna().sum()), int((values < 0).sum()), int((values == 0).sum())


def _rules(graph: Graph, counts: Counts) -> list[str]:
    """What the graph's own rules did."""
    notes, rules = [], graph.listed.rules
    if counts.loops:
        done = 'dropped (loops="drop")' if rules.skip_loops else 'kept (loops="drop" leaves them out)'
        notes.append(f"self loops ({counts.loops:,}) are {done}")
    if counts.repeats:
        kept = rules.repeats == "keep"
        done = 'kept (repeats="first" makes them one)' if kept else f'made one (repeats="{rules.repeats}")'
        notes.append(f"repeated edges ({counts.repeats:,}) are {done}")
    if rules.symmetrize:
        notes.append("the reverse of every edge was added (symmetrize=True)")
    if counts.missing_weights:
        notes.append(f"missing weights ({counts.missing_weights:,}): who reads them refuses them; fill or drop them")
    return notes


def _shown(value: Any) -> str:
    if value is None:
        return "no weights"
    return f"{value:,}" if type(value) is int else str(value)
