"""LDBC Graphalytics: a `.v` file of vertices, a `.e` file of edges and a `.properties` file that describes them.

Any one of the three finds the others beside it; each may be compressed. Only `.e` is indispensable. Values after the
id in `.v` are ignored, as the benchmark does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dgraph.errors import ColumnError, FileError, IdError
from dgraph.io import files, paths
from dgraph.io.columnar.arrow_tables import edge_table, to_table, vertex_ids, weight_and_others
from dgraph.io.edge_list import EdgeList
from dgraph.io.text.dialect import BLANKS, Dialect, read_head, split_line
from dgraph.io.text.plain_text import check_text_ids, warn_of_whole_numbers
from dgraph.io.text.table_reader import read_table, require_rows

SUFFIXES = (".v", ".e", ".properties")


def read(
    path: str | os.PathLike,
    *,
    weight: str | int | bool | None = None,
    columns: Sequence[str] | str | None = None,
    id_type: str | None = None,
) -> EdgeList:
    """The graph that the three files describe; its weight is the first edge property, `weight=False` leaves it out."""
    stem = paths.split_suffix(path)[0]
    if paths.split_suffix(path)[1] not in SUFFIXES:
        stem = os.fspath(path)
    found = {suffix: _beside(stem, suffix) for suffix in SUFFIXES}
    properties = read_properties(found[".properties"]) if found[".properties"] else {}
    for key, suffix in (("vertex-file", ".v"), ("edge-file", ".e")):
        if key in properties:
            named = paths.split_suffix(str(PurePath(stem).parent / properties[key]) if "://" not in stem else stem)[0]
            found[suffix] = _beside(named, suffix) or found[suffix]
    if found[".e"] is None:
        raise FileError(
            "there is no .e file of edges", path=f"{stem}.e", remedy="put the .v, .e and .properties in one folder"
        )
    names = _split_list(properties.get("edge-properties.names", ""))
    none = properties.get("meta.edges") == "0"
    table = _numbers(
        found[".e"], ["source", "destination"], names or ["weight"], bool(names), id_type, may_be_empty=none
    )
    kept = list(table.column_names[2:])
    by_name = kept[0] if kept else None
    if isinstance(weight, str) and weight not in kept:
        raise ColumnError(f"{path}: weight={weight!r}, but the edge properties are {', '.join(kept) or 'none'}")
    by_name = None if weight is False else weight if isinstance(weight, str) else by_name
    others = kept if columns == "all" else [name for name in columns or () if name != by_name]
    for name in others:
        if name not in kept:
            raise ColumnError(f"{path}: there is no edge property {name!r} (they are {', '.join(kept) or 'none'})")
    order = dict.fromkeys(["source", "destination", *([by_name] if by_name else []), *others])
    table = table.select(list(order))
    vertices = None
    if found[".v"]:
        none = properties.get("meta.vertices") == "0"
        vertices = _numbers(found[".v"], ["id"], [], False, id_type, may_be_empty=none).select(["id"])
        if "meta.vertices" in properties:
            require_rows(vertices, found[".v"], _number(properties, "meta.vertices", found[".properties"]), "vertices")
        table, vertices = _known(table, vertices, found[".e"])
    if "meta.edges" in properties:
        require_rows(table, found[".e"], _number(properties, "meta.edges", found[".properties"]), "edges")
    directed = {"true": True, "false": False}.get(properties.get("directed", "").lower())
    return EdgeList(table, "source", "destination", weight=by_name, directed=directed, vertices=vertices)


def _beside(stem: str, suffix: str) -> str | None:
    for compression in ("", *paths.COMPRESSED):
        name = f"{stem}{suffix}{compression}"
        fs, inner = paths.filesystem(name)
        if fs.isfile(inner):
            return name
    return None


def read_properties(path: str) -> dict[str, str]:
    """The entries of a `.properties` file, without their `graph.NAME.`; of a NAME with dots, too."""
    known: tuple[str, ...] = ("vertex-file", "edge-file", "meta.", "directed", "edge-properties.", "vertex-properties.")
    known += ("bfs.", "cdlp.", "lcc.", "pr.", "sssp.", "wcc.", "algorithms")
    found = {}
    text = files.read_bytes(path).decode("utf-8", errors="replace")
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        key = key.strip()
        if key.startswith(("#", "!")) or not equals:
            continue
        starts = [key.find(f".{name}") for name in known if f".{name}" in key]
        if key.startswith("graph.") and starts:
            found[key[min(starts) + 1 :]] = value.strip()
    return found


def _split_list(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number(properties: dict[str, str], key: str, path: str | None) -> int:
    try:
        return int(properties[key])
    except ValueError:
        raise FileError(
            f"{key} = {properties[key]!r} is not a number", path=path, remedy="correct this entry"
        ) from None


def _numbers(
    path: str, ids: list[str], names: list[str], required: bool, id_type: str | None, *, may_be_empty: bool
) -> pa.Table:
    """The columns of a .v or .e file: the ids, then those properties that there are."""
    try:
        head = read_head(path).decode("utf-8", errors="replace")
    except FileError as error:
        if not may_be_empty or "empty" not in error.problem:
            raise
        kinds = dict.fromkeys(ids, pa.int64()) | dict.fromkeys(names if required else [], pa.float64())
        return pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    rows = [(number, line) for number, line in enumerate(head.split("\n")[:1000]) if line.strip()]
    count = len(split_line(rows[0][1], BLANKS)) if rows else len(ids)
    if count < len(ids) + (len(names) if required else 0):
        what = f"{count} fields, where {', '.join([*ids, *(names if required else [])])} are expected"
        raise FileError(what, path=path, line=rows[0][0] + 1, remedy="complete the file or its .properties")
    names = [*ids, *names][:count]
    names += [f"column{place}" for place in range(len(names), count)]
    sample = tuple(tuple(split_line(line, BLANKS)) for _, line in rows[:100])
    dialect = Dialect(BLANKS, tuple(names), quoting=False, comments=(), sample=sample)
    kinds = {name: "id" if name in ids else "weight" for name in names}
    for name in names[len(ids) + (1 if ids != ["id"] else 0) :]:
        kinds[name] = "other"
    return read_table(path, dialect, kinds, id_type=id_type)


def _known(table: pa.Table, vertices: pa.Table, path: str) -> tuple[pa.Table, pa.Table]:
    """Both with ids of one type, once every edge is known to join listed vertices."""
    if table["source"].type != vertices["id"].type:
        kinds = {table["source"].type, vertices["id"].type}
        kind = pa.uint64() if kinds == {pa.uint64(), pa.int64()} else pa.string()
        try:
            table = table.set_column(0, "source", pc.cast(table["source"], kind))
            table = table.set_column(1, "destination", pc.cast(table["destination"], kind))
            vertices = vertices.set_column(0, "id", pc.cast(vertices["id"], kind))
        except pa.ArrowInvalid as error:
            raise IdError(f"{path}: ids of edges and vertices do not fit one 64-bit type ({error})") from error
    for name in ("source", "destination"):
        known = pc.is_in(table[name], value_set=pc.unique(vertices["id"]))
        if not pc.all(known).as_py() and len(known):
            row = pc.index(known, False).as_py()
            remedy = 'add the vertex to the .v file, or read the .e file alone as format="csv"'
            raise IdError(
                f"{path}, row {row + 1}: vertex {table[name][row].as_py()!r} is not in the .v file ({remedy})"
            )
    return table, vertices


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """All three files; `.v` lists every vertex. The direction must be known, as the format has to state it."""
    table, names = edge_table(edge_list)
    source, destination, weight = names
    weight_and_others(table, names, path)
    if edge_list.directed is None:
        raise FileError(
            "Graphalytics states the direction, and the edge list does not know it",
            path=path,
            remedy="give EdgeList(..., directed=True) or False",
        )
    stem, suffix, compression = paths.split_suffix(path)
    if suffix not in SUFFIXES:
        stem, compression = os.fspath(path), ""
    columns = [table[source], table[destination]]
    if edge_list.vertices is not None:
        if not isinstance(edge_list.vertices, range) and len(extra := to_table(edge_list.vertices).column_names) > 1:
            raise ColumnError(f"{path}: a .v file has no place for the vertex column {extra[1]!r} (drop it)")
        columns.append(vertex_ids(edge_list.vertices))
    columns = [column for column in columns if len(column)] or [pa.chunked_array([pa.array([], pa.int64())])]
    if len({column.type for column in columns}) > 1 and any(pa.types.is_string(column.type) for column in columns):
        raise IdError(f"{path}: ids are strings in one column and integers in another (give both the same type)")
    for column in columns:
        check_text_ids(column, path, quoted=False)
    warn_of_whole_numbers(columns, path)
    ids = np.unique(
        np.concatenate(
            [
                np.asarray(column.to_pylist() if pa.types.is_string(column.type) else column.to_numpy())
                for column in columns
            ]
        )
    )
    kind = columns[0].type if len({column.type for column in columns}) == 1 else None
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
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    order = [source, destination, *([weight] if weight else [])]
    with (
        files.atomic(f"{stem}.properties") as properties,  # there last: who finds it finds the others
        files.atomic(f"{stem}.e{compression}") as edges,
        files.atomic(f"{stem}.v{compression}") as vertices,
    ):
        pyarrow.csv.write_csv(pa.table({"id": pa.array(ids, type=kind)}), vertices, options)
        pyarrow.csv.write_csv(table.select(order), edges, options)
        properties.write("".join(f"graph.{name}.{key} = {value}\n" for key, value in facts.items()).encode())
