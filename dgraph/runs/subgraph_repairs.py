"""Repairs of answers that count neighbours in the graph without directions, loops and repeated edges."""

from __future__ import annotations

from functools import partial

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.changes.current_rows import CurrentRows
from dgraph.changes.fetched_rows import FetchedRows
from dgraph.changes.steps import Step
from dgraph.runs.earlier_answer import TOO_MUCH, TWO_TABLES, EarlierAnswer, Repair, RowsOf
from dgraph.solvers.subgraphs.repaired_cores import repaired_cores
from dgraph.solvers.subgraphs.repaired_triangles import repaired_triangles
from dgraph.solvers.subgraphs.simple_pairs import simple_pairs
from dgraph.tables.changed_rows import ChangedRows

UNKNOWN_PAIRS = "which edges were there before the changes is not known, as no partition was built then to find them in"


def repaired_triangle_counts(graph: PartitionedGraph, earlier: EarlierAnswer, rows_with: RowsOf) -> Repair | str:
    touched = earlier.touched
    if touched.existed is None:
        return UNKNOWN_PAIRS
    if graph.directed and graph.input_edges.streamed is not None:
        return TWO_TABLES
    counts, rows = earlier.column("triangles", lambda _: 0).copy(), rows_with(None)
    pairs, read = simple_pairs(touched.ends, touched.existed, touched.present, _both(rows, touched))
    if len(pairs.first):
        read = repaired_triangles(counts, _tables(rows, graph.directed), pairs, read)
    if read < 0:
        return TOO_MUCH
    totals = {"triangles": int(counts.sum()) // 3}
    return Repair({"triangles": counts}, len(touched), read, totals=totals)


def repaired_core_numbers(graph: PartitionedGraph, earlier: EarlierAnswer, rows_with: RowsOf) -> Repair | str:
    if graph.directed and graph.input_edges.streamed is not None:
        return TWO_TABLES
    touched, fired = earlier.touched, 0
    existed = ~touched.present if touched.existed is None else touched.existed
    core, rows = earlier.column("core", lambda _: 0).copy(), rows_with(None)
    pairs, read = simple_pairs(touched.ends, existed, touched.present, _both(rows, touched))
    if len(pairs.first):
        tables = _tables(rows, graph.directed)
        read, fired = repaired_cores(core, tables, pairs, read, all_doubtful=touched.existed is None)
    return TOO_MUCH if read < 0 else Repair({"core": core}, fired, read)


def _both(rows: CurrentRows | FetchedRows, touched: Step) -> partial[tuple[ChangedRows, ...]] | None:
    return partial(_tables, rows, directed=True) if touched.directed else None


def _tables(rows: CurrentRows | FetchedRows, directed: bool) -> tuple[ChangedRows, ...]:
    return (rows("out"), rows("incoming")) if directed else (rows("out"),)
