"""`dgraph update GRAPH --add FILE --remove FILE`: append a version with changed edges to a saved graph."""

from __future__ import annotations

from typing import Any

import click

import dgraph as dg
from dgraph.cli.command import Command, print_outcome
from dgraph.cli.options import FILE, MEMORY, as_json
from dgraph.cli.status_line import show_status
from dgraph.errors import ColumnError, OptionError
from dgraph.phrases.phrases import format_count

OF_TEXT = ("text", "graphalytics")  # formats whose ids may be read as another type than they look like


@click.command("update", cls=Command)
@click.argument("graph", metavar="GRAPH", type=FILE)
@click.option("--add", "added", metavar="FILE", type=FILE, help="Edges to add, with all columns of the saved graph.")
@click.option("--remove", "removed", metavar="FILE", type=FILE, help="Edges to remove, named by their ends.")
@click.option("--header/--no-header", default=None, help="Whether text starts with column names.  [default: guessed]")
@MEMORY
@as_json
def command(
    graph: str, added: str | None, removed: str | None, header: bool | None, memory: int | None, as_json: bool
) -> None:
    """Add edges to a saved graph, and remove others. GRAPH gets a new version; nothing is written again.

    First edges are removed, then edges are added. The files have any format that EDGES may have, chosen by suffix.
    Their ends are the columns that are called as in GRAPH, or else the first two; other columns of --remove are
    ignored. Ids that are not in GRAPH become vertices.

    \b
    Example:
      $ dgraph generate rmat --scale 10 -o edges.parquet
      $ dgraph partition edges.parquet --overwrite -o edges.dgraph
      $ dgraph generate uniform --vertices 2000 --edges 50 -o new.parquet
      $ dgraph update edges.dgraph --add new.parquet
      $ dgraph run wcc edges.dgraph -o components.csv
    """
    if added is None and removed is None:
        raise OptionError("give the changes: --add FILE, --remove FILE or both")
    opened = dg.open_graph(graph, memory=memory)
    more, less = (_edges(opened, path, header) for path in (added, removed))
    with show_status(f"updating {graph}"):
        changed = opened.updated(added=more, removed=less)
        changed.save(graph)
    report = changed.changes
    assert report is not None
    outcome = {
        "version": changed.version,
        **{name: getattr(report, name) for name in ("added", "removed", "missing")},
        "new_vertices": report.vertices,
        "vertices": changed.num_vertices,
        "edges": changed.num_edges,
    }
    text = f"{graph} is now version {changed.version}: {format_count(report.added, 'edge')} added, "
    text += f"{report.removed:,} removed, {report.missing:,} missing, {format_count(report.vertices, 'vertex')} new"
    print_outcome(outcome, as_json, text)


def _edges(graph: dg.Graph, path: str | None, header: bool | None) -> Any:
    """The edges of a file as a frame with the columns of the graph's edges, as far as it has them."""
    if path is None:
        return None
    from dgraph.frames.any_frame import to_pandas
    from dgraph.io.format_options import format_with
    from dgraph.io.formats import format_of, read_edge_list

    name = format_of(path, None)
    how: dict[str, Any] = {} if header is None else {"format": format_with(path, name, {"header": header})}
    of_text = graph.numbering.id_type.kind == "string" and name in OF_TEXT
    how |= {"columns": "all", "id_type": "string" if of_text else None}
    given = graph.input_edges.edges
    ends = given.source, given.destination
    with show_status(f"reading {path}"):
        try:
            listed = read_edge_list(path, source=ends[0], destination=ends[1], **how)
        except ColumnError:  # there are no columns of these names
            listed = read_edge_list(path, **how)
        frame = to_pandas(listed.edges).rename(columns={listed.source: ends[0], listed.destination: ends[1]})
    if given.weight is not None and given.weight not in frame.columns and listed.weight is not None:
        frame = frame.rename(columns={listed.weight: given.weight})
    return frame[[name for name in (*ends, *graph.edge_columns) if name in frame.columns]]
