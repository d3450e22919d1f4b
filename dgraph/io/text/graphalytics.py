"""LDBC Graphalytics: a `.v` file of vertices, a `.e` file of edges and a `.properties` file that describes them.

The path may name any of the three; the others are found next to it. Each may be compressed, and only `.e` is required.
Values after the id in `.v` are ignored, as in the benchmark.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dgraph.arguments import AUTO, is_default
from dgraph.errors import FileError, IdError
from dgraph.io import files, paths
from dgraph.io.columnar.arrow_tables import concatenate, edge_table, refuse_other_columns, vertex_ids
from dgraph.io.edge_list import EdgeList, choose_columns
from dgraph.io.text.dialect import BLANKS, Dialect, read_head, split_line
from dgraph.io.text.plain_text import check_text_ids, warn_of_whole_numbers
from dgraph.io.text.table_reader import cast_columns, read_table, require_rows, write_rows

SUFFIXES = (".v", ".e", ".properties")
_MOST_PROPERTIES = 16 << 20  # bytes of a .properties file


def read(
    path: str | os.PathLike,
    *,
    weight: str | int | bool | None = "auto",
    columns: Sequence[str] | str | None = None,
    id_type: str | None = None,
) -> EdgeList:
    """The graph that the three files describe. The weight is the first edge property; `weight=None` leaves it out."""
    stem, suffix, _ = paths.split_suffix(path)
    stem = stem if suffix in SUFFIXES else os.fspath(path)
    members = {suffix: _member(stem, suffix, path) for suffix in SUFFIXES}
    properties = read_properties(members[".properties"]) if members[".properties"] else {}
    for key, suffix in (("vertex-file", ".v"), ("edge-file", ".e")):
        if key in properties:
            named = paths.split_suffix(str(PurePath(stem).parent / properties[key]) if "://" not in stem else stem)[0]
            members[suffix] = _member(named, suffix, path) or members[suffix]
    if members[".e"] is None:
        remedy = "put the .v, .e and .properties files in one folder"
        raise FileError("there is no .e file of edges", path=f"{stem}.e", remedy=remedy)
    names = [name.strip() for name in properties.get("edge-properties.names", "").split(",") if name.strip()]
    table = _numbers(members[".e"], ["source", "destination"], names, id_type, properties.get("meta.edges"))
    known = table.column_names
    if weight is True or is_default(weight, AUTO):
        weight = known[2] if len(known) > 2 else None
    chosen, label, _ = choose_columns(path, known, weight=weight, columns=columns)
    table = table.select(chosen)
    vertices = None
    if members[".v"]:
        vertices = _numbers(members[".v"], ["id"], [], id_type, properties.get("meta.vertices"))
        _require_declared(properties, "vertices", vertices, members)
        table, vertices = _known(table, vertices, members[".e"])
    _require_declared(properties, "edges", table, members)
    directed = {"true": True, "false": False}.get(properties.get("directed", "").lower())
    return EdgeList(table, "source", "destination", weight=label, directed=directed, vertices=vertices)


def _member(stem: str, suffix: str, path: str | os.PathLike) -> str | None:
    """The file with this suffix, compressed or not; `path` itself, if there are several."""
    names = [f"{stem}{suffix}{compression}" for compression in ("", *paths.COMPRESSED)]
    for name in sorted(names, key=lambda name: name != os.fspath(path)):
        fs, inner = paths.filesystem(name)
        if fs.isfile(inner):
            return name
    return None


def read_properties(path: str) -> dict[str, str]:
    """The entries of a `.properties` file without the prefix `graph.NAME.`, where NAME may contain dots."""
    known: tuple[str, ...] = ("vertex-file", "edge-file", "meta.", "directed", "edge-properties.", "vertex-properties.")
    known += ("bfs.", "cdlp.", "lcc.", "pr.", "sssp.", "wcc.", "algorithms")
    entries = {}
    text = files.read_bytes(path, most=_MOST_PROPERTIES).decode("utf-8", errors="replace")
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        key = key.strip()
        if key.startswith(("#", "!")) or not equals:
            continue
        starts = [key.find(f".{name}") for name in known if f".{name}" in key]
        if key.startswith("graph.") and starts:
            entries[key[min(starts) + 1 :]] = value.strip()
    return entries


def _require_declared(properties: dict[str, str], what: str, table: pa.Table, members: dict[str, str | None]) -> None:
    """Raise a FileError unless a table has as many rows as the `.properties` file declares, if it does."""
    if (text := properties.get(f"meta.{what}")) is None:
        return
    try:
        declared = int(text)
    except ValueError:
        problem = f"meta.{what} = {text!r} is not an integer"
        raise FileError(problem, path=members[".properties"], remedy="correct this entry") from None
    require_rows(table, str(members[".v" if what == "vertices" else ".e"]), declared, what)


def _numbers(path: str, ids: list[str], names: list[str], id_type: str | None, declared: str | None) -> pa.Table:
    """The columns of a .v or .e file: the ids, and of edges the properties that the file has; those in `names` must be
    there. The file may be empty if the .properties file declares "0" rows."""
    if declared == "0" and files.is_empty(path):
        return pa.schema(dict.fromkeys(ids, pa.int64()) | dict.fromkeys(names, pa.float64())).empty_table()
    head = read_head(path).decode("utf-8", errors="replace")
    rows = [(number, line) for number, line in enumerate(head.split("\n")[:1000]) if line.strip()]
    count = len(split_line(rows[0][1], BLANKS)) if rows else len(ids)
    if count < len(ids) + len(names):
        problem = f"expected the fields {', '.join([*ids, *names])}, got {count}"
        raise FileError(problem, path=path, line=rows[0][0] + 1, remedy="complete the file or its .properties")
    names = [*ids, *(names or ["weight"])][:count]
    names += [f"column{place}" for place in range(len(names), count)]
    sample = tuple(tuple(split_line(line, BLANKS)) for _, line in rows[:100])
    dialect = Dialect(BLANKS, tuple(names), comments=(), sample=sample)
    kinds = ["id"] if ids == ["id"] else ["id", "id", "weight", *["other"] * count]
    return read_table(path, dialect, dict(zip(names, kinds, strict=False)), id_type=id_type)


def _known(table: pa.Table, vertices: pa.Table, path: str) -> tuple[pa.Table, pa.Table]:
    """Both tables with ids of one type, after a check that all ends of edges are listed vertices."""
    if table["source"].type != vertices["id"].type:
        kinds = {table["source"].type, vertices["id"].type}
        kind = pa.uint64() if kinds == {pa.uint64(), pa.int64()} else pa.string()
        try:
            table = cast_columns(table, ["source", "destination"], kind)
            vertices = cast_columns(vertices, ["id"], kind)
        except pa.ArrowInvalid as error:
            raise IdError(f"{path}: ids of edges and vertices do not fit into one 64-bit type ({error})") from error
    for name in ("source", "destination"):
        known = pc.is_in(table[name], value_set=pc.unique(vertices["id"]))
        if not pc.all(known).as_py() and len(known):
            row = pc.index(known, False).as_py()
            problem = f"{path}, row {row + 1}: vertex {table[name][row].as_py()!r} is not in the .v file"
            raise IdError(f'{problem} (add it there, or read only the .e file with format="csv")')
    return table, vertices


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Writes all three files; `.v` lists every vertex. `edge_list.directed` must not be None."""
    table, names = edge_table(edge_list)
    source, destination, weight = names
    refuse_other_columns(table, names, path)
    if edge_list.directed is None:
        problem, remedy = "Graphalytics needs the direction of the edges", "set EdgeList(..., directed=True) or False"
        raise FileError(problem, path=path, remedy=remedy)
    stem, suffix, compression = paths.split_suffix(path)
    if suffix not in SUFFIXES:
        stem, compression = os.fspath(path), ""
    columns = [table[source], table[destination]]
    if edge_list.vertices is not None:
        columns.append(vertex_ids(edge_list.vertices, path, "a .v file", "drop it"))
    columns = [column for column in columns if len(column)] or [pa.chunked_array([pa.array([], pa.int64())])]
    if len({column.type for column in columns}) > 1 and any(pa.types.is_string(column.type) for column in columns):
        raise IdError(f"{path}: ids are strings in one column and integers in another (use one type)")
    for column in columns:
        check_text_ids(column, path, quoted=False)
    warn_of_whole_numbers(columns, path)
    ids = pc.unique(concatenate([pa.table({"id": column}) for column in columns], ["id"])["id"]).sort()
    name = PurePath(stem).name
    facts: dict[str, Any] = {
        "vertex-file": f"{name}.v{compression}",
        "edge-file": f"{name}.e{compression}",
        "meta.vertices": len(ids),
        "meta.edges": table.num_rows,
        "directed": str(edge_list.directed).lower(),
    }
    if weight:
        facts |= {"edge-properties.names": weight, "edge-properties.types": "real"}
    order = [source, destination, *([weight] if weight else [])]
    with (
        files.atomic(f"{stem}.properties") as properties,  # completed last: if it exists, the others do
        files.atomic(f"{stem}.e{compression}") as edges,
        files.atomic(f"{stem}.v{compression}") as vertices,
    ):
        write_rows({"id": ids}, vertices)
        write_rows(table.select(order), edges)
        properties.write("".join(f"graph.{name}.{key} = {value}\n" for key, value in facts.items()).encode())
