"""The cards that notebooks show of a graph, a result, a report, an estimate and a validation.

They show what is known, and start no work: a graph that is not read yet stays so, and values stay on their workers.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import pandas as pd

from dgraph.display.html_pieces import card, facts, shown, sparkline, table
from dgraph.phrases.phrases import format_count

if TYPE_CHECKING:
    from dgraph.building.validation import Validation
    from dgraph.estimates.estimate import Estimate
    from dgraph.graph import Graph
    from dgraph.runs.result_display import ResultDisplay
    from dgraph.runs.run_report import RunReport

FEW = 5  # rows of values, supersteps or partitions that a card shows
COUNTS = ("fired", "edges", "messages", "bytes", "busy", "wait", "idle")


def graph_card(graph: Graph) -> str:
    """The card of a graph: its sizes if they are known, where it is, and the columns of its edges."""
    given, ends = graph.input_edges, graph.input_edges.edges
    kind = "directed" if graph.directed else "undirected"
    parts = graph.asked.parts or vars(graph).get("num_parts") or (1 if graph.client is None else None)
    built, columns = graph.built, [name for name in ends.columns if name != graph.weight]
    known = {
        "vertices": given.num_vertices if given.is_read else "not counted yet",
        "edges": "not counted yet" if (edges := given.edges_if_counted) is None else edges,
        "ends": f"{ends.source}, {ends.destination}",
        "weight": graph.weight,
        "other columns": ", ".join(columns) or None,
        "attributes of vertices": ", ".join(given.vertices.columns) or None,
        "partitions": parts and f"{parts:,} ({'built' if built else 'built when first needed'})",
        "where": "this process" if graph.client is None else "the workers of a Dask cluster",
        "folder": None if given.opened is None else given.opened.folder,
    }
    then = ["dg.pagerank(G).compute()  # a frame with your own ids"]
    then += ["G.validate()  # loops, repeated edges, unusual weights"]
    return card("Graph", kind, [facts(known)], then)


def result_card(result: ResultDisplay, first: pd.DataFrame | None) -> str:
    """The card of a result: its columns, how it was computed, and the first rows if this process has them."""
    kinds = {
        name: ("vertex" if name in result._vertex_columns else str(values.dtype)) + str([*values.shape[1:]] or "")
        for name, values in result._empty.columns.items()
    }
    rows, options = pd.DataFrame(result._rows), result._options
    known = {
        "columns": ", ".join(f"{name} ({kind})" for name, kind in kinds.items()),
        "engine": options.get("engine"),
        "device": options.get("device"),
        "rounds": result.rounds,
        "edges read": int(rows["edges"].sum()) if "edges" in rows else None,
        **{name: value for name, value in result.totals.items() if getattr(value, "ndim", 0) == 0},
        "values": "in this process" if result._workers.client is None else "on the workers that computed them",
    }
    pieces = [facts(known), _course(rows, options)]
    if first is not None:
        pieces.append(table(list(first), list(first.itertuples(index=False)), more=result._numbering.size - len(first)))
    then = ["result.compute()  # a pandas frame, sorted by vertex"]
    if result._workers.client is not None:
        then = ["result.frame  # a lazy Dask frame, whose values stay on the workers"]
    if "predecessor" in kinds:
        then.append("result.path(vertex)  # the way from the source to a vertex")
    elif "community" in kinds:
        then.append("dg.coarsen(G, result)  # the graph of communities")
    elif next(iter(result._empty.columns.values())).ndim == 1:
        then.append("result.plot()  # with Matplotlib")
    else:
        then.append("result.report  # what happened in each superstep")
    return card(type(result).__name__, format_count(result._numbering.size, "vertex"), pieces, then)


def report_card(report: RunReport) -> str:
    """The card of a report: totals by superstep and partition, how many vertices fired, and the options."""
    rows, options = pd.DataFrame(report), getattr(report, "options", {})
    pieces = [_course(rows, options)]
    for by in ("superstep", "partition"):
        if by in rows and (by == "superstep" or rows[by].nunique() > 1):
            names = [name for name in COUNTS if name in rows]
            sums = rows.groupby(by)[names].sum()
            lines = [[int(at), *values] for at, *values in sums.head(FEW).itertuples(name=None)]
            pieces.append(table([by, *names], lines, more=max(0, len(sums) - FEW)))
    if options:
        pieces.append(f"<details><summary>options of the run</summary>{facts(options)}</details>")
    then = ['report.plot()  # with Matplotlib; by="partition" shows who waits']
    if options.get("engine") == "local":
        then.append('# with engine="gas", a run has supersteps, and its report a row for each')
    else:
        then.append("report.against(other)  # compares it with the report of another run")
    return card("RunReport", format_count(len(rows), "row"), pieces, then)


def _course(rows: pd.DataFrame, options: dict[str, Any]) -> str:
    """Sparklines of a run: vertices fired, and the residual where the engine measures it."""
    if not {"superstep", "fired"} <= set(rows):
        return ""
    step = "local round" if "milliseconds to find the end" in options else "superstep"
    steps = rows.groupby("superstep")
    lines = [sparkline(steps["fired"].sum(), "vertices fired", step)]
    if "residual" in rows:
        lines.append(sparkline(steps["residual"].max(), "residual", step))
    return "".join(lines)


def estimate_card(estimate: Estimate) -> str:
    """The card of an estimate: the needs of each policy, and the best one."""
    limit = None if estimate.memory is None else _bytes(estimate.memory)
    about, about_edges = ("" if one else "about " for one in (estimate.exact, not estimate.pieces))
    known = {
        "workers": estimate.workers,
        "memory of each": limit,
        "vertices": f"{about}{estimate.vertices:,}",
        "edges": f"{about_edges}{estimate.edges:,}",
    }
    heads = ["policy", "to build", "to run", "exchanged in a round", "edges of the largest", "copies", "fits"]
    rows = [
        [name, *map(_bytes, (row.build, row.run, row.exchange)), int(row.edges), float(row.replication), bool(row.fits)]
        for name, row in zip(estimate.frame.index, estimate.frame.itertuples(), strict=True)
    ]
    best = None if estimate.policy is None else list(estimate.frame.index).index(estimate.policy)
    if best is None:
        least = int(estimate.frame[["build", "run"]].max(axis=1).min())
        then = [f"# no policy fits: use at least {_bytes(least)} per worker, or more workers"]
        then += [f'G.estimate("{estimate.op}", workers={2 * estimate.workers})']
    else:
        then = [f'G = dg.Graph.from_edges(frame, policy="{estimate.policy}")  # the least traffic']
    return card("Estimate", estimate.op, [facts(known), table(heads, rows, best)], then)


def validation_card(validation: Validation) -> str:
    """The card of a validation: counts, the graph's rules, and how operations treat what is unusual."""
    counts = {name.replace("_", " "): value for name, value in asdict(validation.counts).items()}
    if validation.blocks:
        counts["saved blocks"] = f"{validation.blocks:,}, all checksums right"
    pieces = [facts(counts)]
    if validation.rules:
        pieces.append("".join(f"<div>{shown(rule)}</div>" for rule in validation.rules))
    if validation.operations:
        remarks = "".join(
            f"<tr><th>{shown(name)}</th><td>{shown(text)}</td></tr>" for name, text in validation.operations.items()
        )
        body = f'<table class="facts"><tbody>{remarks}</tbody></table>'
        pieces.append(f"<details><summary>what operations do with them</summary>{body}</details>")
    found = validation.counts
    steps = (
        (found.kept_loops or found.kept_repeats, "H = dg.simplify(G)  # without self loops and repeated edges"),
        (found.isolated, "H = dg.largest_component(G)  # without isolated vertices"),
        (found.missing_weights, "frame = frame.dropna()  # the edges without a weight"),
        (True, "dg.wcc(G).frame.component.nunique().compute()  # the number of components"),
    )
    return card("Validation", "", pieces, list(islice((line for needed, line in steps if needed), 2)))


def _bytes(count: float) -> str:
    power = min((int(count) or 1).bit_length() // 10, 4)
    return f"{count / 1024**power:.3g} {('B', 'kiB', 'MiB', 'GiB', 'TiB')[power]}"
