"""Determines the format of a file from `format=`, its suffix or its first bytes, and reads or writes it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from types import ModuleType
from typing import Any

from dgraph.arguments import AUTO, is_default
from dgraph.errors import ColumnError, FileError, OptionError
from dgraph.frames.sources import WEIGHT
from dgraph.io import paths
from dgraph.io.columnar import npz, parquet, parquet_folder
from dgraph.io.edge_list import EdgeList
from dgraph.io.format_options import Parquet, Text, name_of_format
from dgraph.io.text import dimacs, graphalytics, konect, matrix_market, metis, plain_text
from dgraph.io.text.dialect import read_head, sniff
from dgraph.native.free_memory import explain_lack_of_memory

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
# other names of formats, mostly suffixes without the dot
ALIASES = {suffix[1:]: name for suffix, name in _SUFFIXES.items()}
ALIASES |= {"ldbc": "graphalytics", "matrixmarket": "matrix_market"}
_KNOWN = " ".join(_SUFFIXES)
# what a format module may define in addition to SUFFIXES, read and write
_ONE_BASED = tuple(name for name, module in FORMATS.items() if getattr(module, "COUNTS_FROM_ONE", False))
_COMPRESSED = tuple(name for name, module in FORMATS.items() if getattr(module, "COMPRESSED", False))
_ONLY_EDGES = tuple(name for name, module in FORMATS.items() if getattr(module, "ONLY_EDGES", False))
_MAGIC = {name: module.MAGIC for name, module in FORMATS.items() if hasattr(module, "MAGIC")}


def format_of(path: str | os.PathLike, format: str | Text | Parquet | None = None) -> str:
    """The name of the format to read `path` as."""
    if (name := name_of_format(format)) is not None:
        return _named(name)
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
    raise OptionError(f"unknown format={format!r}; the choices are {', '.join(FORMATS)}, or a suffix: {_KNOWN}")


def _first_file(path: str | os.PathLike) -> str:
    fs, inner = paths.filesystem(path)
    if fs.isdir(inner) or any(sign in inner for sign in "*?["):
        names = paths.expand(path)
        examples = {_SUFFIXES[suffix]: name for name in names if (suffix := paths.split_suffix(name)[1]) in _SUFFIXES}
        if len(examples) > 1:
            (one, name), (other, another) = sorted(examples.items())[:2]
            problem = f"the files have several formats: {name} is {one}, {another} is {other}"
            raise FileError(problem, path=path, remedy="select the files of one format with a glob, or set format=")
        return next(iter(examples.values()), names[0])
    return os.fspath(path)


def _by_content(path: str) -> str:
    """The format that the first bytes of a file indicate."""
    line = next((line for line in read_head(path).lower().split(b"\n") if not line.startswith(b"c ")), b"")
    for name, magic in _MAGIC.items():
        if line.startswith(magic):
            return name
    try:
        dialect = sniff(path)
        if len(dialect.names) >= 2 and len({len(row) for row in dialect.sample}) <= 1:
            return "text"
        problem = "rows have different lengths"
    except FileError as error:
        problem = error.problem
    remedy = f"set format= to one of {', '.join(FORMATS)}; the known suffixes are {_KNOWN}"
    raise FileError(f"cannot detect the format by suffix or content ({problem})", path=path, remedy=remedy)


def read_edge_list(
    path: str | os.PathLike,
    *,
    format: str | Text | Parquet | None = None,
    source: str | int | None = None,
    destination: str | int | None = None,
    weight: str | int | bool | None = "auto",
    columns: Sequence[str | int] | str | None = None,
    id_type: str | None = None,
    readers: Mapping[str, Callable[..., EdgeList]] | None = None,
) -> EdgeList:
    """The edges of a file, folder, glob or URL in any format, decompressed if it ends in .gz, .bz2, .xz or .zst.

    `weight=None` (or False) ignores the weight of a format that has one; `columns` names further edge columns, or is
    "all". `readers` read block by block, in place of the readers of the formats.
    """
    name = format_of(path, format)
    weight = usual_weight(format, weight)
    takes = inspect.signature(FORMATS[name].read).parameters
    options: dict[str, Any] = {}
    if isinstance(format, Text):
        options = {"delimiter": format.delimiter, "header": format.header}
    if id_type is not None and "id_type" in takes:
        options["id_type"] = id_type
    elif id_type is not None and not (id_type == "int64" and name in _ONE_BASED):  # where ids are always integers
        problem = f"{name} has no option id_type={id_type!r}: the file says what its ids are"
        raise OptionError(f"{path}: {problem} (leave it out)")
    if readers is not None and name not in readers:
        raise OptionError(f"{path}: {name} files cannot be read block by block (convert to .parquet or .csv first)")
    if "source" in takes:
        options |= {"source": source, "destination": destination}
    else:
        weight = _weight_where_columns_are_fixed(path, name, source, destination, weight)
    if "columns" in takes:
        options["columns"] = columns
    elif columns != "all":
        for column in [columns] if isinstance(columns, str) else columns or ():
            if column not in ("source", "destination", "weight"):
                known = "its columns are source, destination and possibly weight"
                raise ColumnError(f"{path}: {name} has no column {column!r} ({known})")
    read = FORMATS[name].read if readers is None else readers[name]
    with explain_lack_of_memory(path):
        return read(path, weight=weight, **options)


def usual_weight(format: Any, weight: Any) -> Any:
    """The option `weight`: False means None, and the format "wel" has weights in the third column."""
    if is_default(weight, AUTO) and str(format).lower().lstrip(".") == "wel":
        return 2
    return None if weight is False else weight


def _weight_where_columns_are_fixed(
    path: Any, name: str, source: str | int | None, destination: str | int | None, weight: str | int | bool | None
) -> str | bool | None:
    """The meaning of `weight=` in a format with fixed columns; a ColumnError if an option names another column."""
    for place, (what, column) in enumerate({"source": source, "destination": destination}.items()):
        if column not in (None, place, what):
            problem = f"{what}={column!r}, but the columns of {name} are fixed"
            raise ColumnError(f"{path}: {problem} (leave out source= and destination=)")
    if isinstance(weight, int) and not isinstance(weight, bool):
        if weight != 2:
            problem = f"weight={weight}, but the weight of {name} is the third column"
            raise ColumnError(f"{path}: {problem} (pass weight=2 or True)")
        return True
    if name in _ONE_BASED and isinstance(weight, str) and weight not in (AUTO, WEIGHT):
        raise ColumnError(f"{path}: weight={weight!r}, but {name} calls its weight 'weight'")
    return weight


def format_to_write(path: str | os.PathLike, format: str | None = None) -> str:
    """The name of the format to write, according to `format=` or the suffix of `path`. A folder has Parquet files."""
    if not isinstance(path, str | os.PathLike):
        raise OptionError(f"{path!r} must be the path of a file")
    stem, suffix, compression = paths.split_suffix(path)
    if parquet_folder.is_folder(path):
        if format is not None and _named(format) != "parquet":
            raise OptionError(f"{path}: only Parquet is written to a folder of files (leave out the slash, or format=)")
        if _SUFFIXES.get(suffix, "parquet") != "parquet":
            raise OptionError(
                f"{path}: with a slash at its end this is a folder of Parquet files (leave out {suffix}/)"
            )
        return "parquet"
    if format is None and suffix not in _SUFFIXES:
        raise OptionError(f"{path}: no format has the suffix {suffix!r} (use one of {_KNOWN}, or set format=)")
    name = _named(format) if format is not None else _SUFFIXES[suffix]
    if name in _COMPRESSED and compression:
        raise OptionError(f"{path}: {name} files are compressed internally (write {stem}{suffix})")
    return name


def counts_from_one(path: str | os.PathLike, format: str | None = None) -> bool:
    """Whether the format to write numbers vertices 1, 2, 3, ..."""
    return format_to_write(path, format) in _ONE_BASED


def write_edge_list(
    edge_list: EdgeList, path: str | os.PathLike, *, format: str | None = None, drop_isolated: bool = False
) -> None:
    """Write in the format of `format=` or the suffix; the file is replaced only when it is complete.

    Values that the format cannot hold raise an error. Only isolated vertices may be left out, with `drop_isolated`.
    """
    name = format_to_write(path, format)
    if drop_isolated and (name in _ONLY_EDGES or (name == "parquet" and not isinstance(edge_list.vertices, range))):
        edge_list = replace(edge_list, vertices=None)
    style = f".{str(format).lower().lstrip('.')}"
    if parquet_folder.is_folder(path):
        parquet_folder.write_slices(edge_list, path)
    elif name == "text" and style in plain_text.SUFFIXES:
        plain_text.write(edge_list, path, suffix=style)
    else:
        FORMATS[name].write(edge_list, path)
