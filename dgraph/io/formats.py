"""Which format a file is in, by `format=`, by suffix, else by its first bytes; one door to read and one to write."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from types import ModuleType
from typing import Any

from dgraph.errors import ColumnError, FileError, OptionError
from dgraph.io import paths
from dgraph.io.columnar import npz, parquet
from dgraph.io.edge_list import EdgeList
from dgraph.io.text import dimacs, graphalytics, konect, matrix_market, metis, plain_text
from dgraph.io.text.dialect import read_head, sniff

FORMATS: dict[str, ModuleType] = {
    "text": plain_text,
    "parquet": parquet,
    "graphalytics": graphalytics,
    "matrix_market": matrix_market,
    "metis": metis,
    "dimacs": dimacs,
    "konect": konect,
    "npz": npz,
}
_SUFFIXES = {suffix: name for name, module in FORMATS.items() for suffix in module.SUFFIXES}
# names that users know a format by, mostly its suffix without the dot
ALIASES = {suffix[1:]: name for suffix, name in _SUFFIXES.items()}
ALIASES |= {"ldbc": "graphalytics", "matrixmarket": "matrix_market"}
_COUNTED = ("matrix_market", "metis", "dimacs", "konect")  # formats that count vertices from 1, and name no columns


def format_of(path: str | os.PathLike, format: str | None = None) -> str:
    """The name of the format to read `path` as."""
    if format is not None:
        return _named(format)
    first = _first_file(path)
    suffix = paths.split_suffix(first)[1]
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if PurePath(first).name.startswith("out."):
        return "konect"
    return _by_content(first)


def _named(format: str) -> str:
    name = str(format).lower().lstrip(".").replace("-", "_")
    if name in FORMATS or name in ALIASES:
        return ALIASES.get(name, name)
    raise OptionError(f"format={format!r} is not known; the choices are {', '.join(FORMATS)}, or a suffix: {_known()}")


def _known() -> str:
    return " ".join(_SUFFIXES)


def _first_file(path: str | os.PathLike) -> str:
    fs, inner = paths.filesystem(path)
    if fs.isdir(inner) or any(sign in inner for sign in "*?["):
        names = paths.expand(path)
        of_each = {_SUFFIXES[suffix]: name for name in names if (suffix := paths.split_suffix(name)[1]) in _SUFFIXES}
        if len(of_each) > 1:
            (one, name), (other, another) = sorted(of_each.items())[:2]
            problem = f"files of several formats: {name} is {one}, {another} is {other}"
            raise FileError(problem, path=path, remedy="name those of one format by a glob, or by format=")
        return next(iter(of_each.values()), names[0])
    return os.fspath(path)


def _by_content(path: str) -> str:
    """The format that the first bytes of a file give away."""
    head = read_head(path)
    for magic, name in ((b"%%matrixmarket", "matrix_market"), (b"par1", "parquet"), (b"pk\x03\x04", "npz")):
        if head[: len(magic)].lower() == magic:
            return name
    line = next((line for line in head.decode("utf-8", errors="replace").split("\n") if not line.startswith("c ")), "")
    if line.startswith(("% sym ", "% asym ", "% bip ")):
        return "konect"
    if line.startswith("p sp "):
        return "dimacs"
    try:
        dialect = sniff(path)
        if len(dialect.names) >= 2 and len({len(row) for row in dialect.sample}) <= 1:
            return "text"
        problem = "rows of different lengths"
    except FileError as error:
        problem = error.problem
    remedy = f"name it: format= is one of {', '.join(FORMATS)}; suffixes that say it are {_known()}"
    raise FileError(f"neither its suffix nor its content tells the format ({problem})", path=path, remedy=remedy)


def read_edge_list(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    source: str | int | None = None,
    destination: str | int | None = None,
    weight: str | int | bool | None = None,
    columns: Sequence[str | int] | str | None = None,
    **options: Any,
) -> EdgeList:
    """The edges of a file, folder, glob or URL, in any format; compressed when it ends in .gz, .bz2, .xz or .zst.

    `weight=False` leaves out the weight of a format that has one; `columns` names more edge columns, or is "all".
    Further options are those of the format: `delimiter`, `header`, `id_type` of text, `id_type` of Graphalytics.
    """
    name = format_of(path, format)
    if weight is None and str(format).lower().lstrip(".") == "wel":
        weight = 2
    takes = inspect.signature(FORMATS[name].read).parameters
    if name in _COUNTED and options.get("id_type") == "int64":
        del options["id_type"]  # they are
    if "source" in takes:
        options |= {"source": source, "destination": destination}
    else:
        weight = _weight_where_columns_are_fixed(path, name, source, destination, weight)
    if "columns" in takes:
        options["columns"] = columns
    elif columns != "all":
        for column in [columns] if isinstance(columns, str) else columns or ():
            if column not in ("source", "destination", "weight"):
                known = "it has source, destination and maybe weight"
                raise ColumnError(f"{path}: {name} has no column {column!r} ({known})")
    check_options(path, name, options)
    return FORMATS[name].read(path, weight=weight, **options)


def check_options(path: str | os.PathLike, name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the format of this name has not."""
    takes = inspect.signature(FORMATS[name].read).parameters
    for option in options.keys() - takes.keys():
        own = sorted(takes.keys() - {"path", "source", "destination", "weight", "columns"})
        known = f"its options are {', '.join(own)}" if own else "it has no options of its own"
        raise OptionError(f"{path}: {name} does not know {option}= ({known})")


def _weight_where_columns_are_fixed(
    path: Any, name: str, source: str | int | None, destination: str | int | None, weight: str | int | bool | None
) -> str | bool | None:
    """What `weight=` means in a format that fixes its columns; refuse to call any of these otherwise."""
    if any(
        column not in (None, place, label)
        for column, place, label in ((source, 0, "source"), (destination, 1, "destination"))
    ):
        given = source if source not in (None, 0, "source") else destination
        raise ColumnError(
            f"{path}: {name} fixes its columns, and {given!r} cannot be named (leave source=, destination= out)"
        )
    if isinstance(weight, int) and not isinstance(weight, bool):
        if weight != 2:
            raise ColumnError(
                f"{path}: weight={weight}, but the weight of {name} is the third column (say weight=2 or True)"
            )
        return True
    if name in _COUNTED and isinstance(weight, str) and weight != "weight":
        raise ColumnError(f"{path}: weight={weight!r}, but {name} calls its weight 'weight'")
    return weight


def written_as(path: str | os.PathLike, format: str | None = None) -> str:
    """The name of the format to write `path` in, which its suffix or `format=` says."""
    if not isinstance(path, str | os.PathLike):
        raise OptionError(f"{path!r} is no path: name a file")
    stem, suffix, compression = paths.split_suffix(path)
    if format is None and suffix not in _SUFFIXES:
        raise OptionError(f"{path}: suffix {suffix!r} tells no format (use one of {_known()}, or format=)")
    name = _named(format) if format is not None else _SUFFIXES[suffix]
    if name in ("parquet", "npz") and compression:
        raise OptionError(f"{path}: {name} is compressed inside, and not by a suffix (write {stem}{suffix})")
    return name


def counts_from_one(path: str | os.PathLike, format: str | None = None) -> bool:
    """Whether vertices are 1, 2, 3 ... in the format that `path` is to be written in."""
    return written_as(path, format) in _COUNTED


def write_edge_list(
    edge_list: EdgeList, path: str | os.PathLike, *, format: str | None = None, drop_isolated: bool = False
) -> None:
    """Write in the format that the suffix or `format=` says; the file appears whole or not at all.

    What the format cannot express is refused with the value and a remedy, never dropped; but vertices without edges,
    if `drop_isolated` says so.
    """
    name = written_as(path, format)
    if drop_isolated and (name == "text" or (name == "parquet" and not isinstance(edge_list.vertices, range))):
        edge_list = replace(edge_list, vertices=None)
    style = f".{str(format).lower().lstrip('.')}"
    if name == "text" and style in plain_text.SUFFIXES:
        plain_text.write(edge_list, path, suffix=style)
    else:
        FORMATS[name].write(edge_list, path)
