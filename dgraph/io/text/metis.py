"""METIS: line i lists the neighbours of vertex i (Karypis, Kumar, METIS 5 manual, section 4.1).

Graphs are undirected: each edge is listed in two rows and kept once, source <= destination. A blank row has no edges.
If the header counts every listing rather than every pair, the file is from GAPBS: its rows list directed out-edges.
GAPBS also writes `100` without the vertex sizes that METIS means by it; the count in the header distinguishes the two.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.errors import FileError, OptionError, WeightError
from dgraph.io import declared_sizes, files, paths
from dgraph.io.columnar.arrow_tables import one_based_edges
from dgraph.io.edge_list import EdgeList, keep_weight

SUFFIXES = (".graph", ".metis")
COUNTS_FROM_ONE = True
_LINES = 1 << 16  # lines per write
_HEADER, _MOST_WEIGHTS = 200, 1 << 12  # the most bytes of a header that are read; the most weights (columns) per vertex
_EACH, _EACH_NUMBER, _EACH_ROW = 4, 40, 24  # bytes of memory for a byte of the file, a number and a row
_COMMENT = re.compile(rb"(?m)^[ \t]*%[^\n]*\n?")
_HEADER_LINE = re.compile(rb"(?m)^[ \t\r\v\f]*+[^%\s][^\n]*")
_FORMAT = re.compile("[01]{1,3}")


class MetisHeader(NamedTuple):
    """The first line of a file: counts, and what the rows contain; `line` is its line number."""

    vertices: int
    edges: int
    sizes: bool
    constraints: int
    weighted: bool
    line: int


def read(path: str | os.PathLike, *, weight: bool | str | None = "auto") -> EdgeList:
    """The edges. Vertex sizes and vertex weights, if any, are columns of `vertices`."""
    path = os.fspath(path)
    header, body = _header(path, files.read_bytes(path, _EACH).replace(b"\r\n", b"\n"))
    numbers, lengths = _numbers(path, body, header)
    if header.sizes and not header.weighted and not header.constraints and len(numbers) == header.edges:
        header = header._replace(sizes=False)  # a file from GAPBS: with sizes, there would be more numbers
    source, destination, weights, attributes = _rows(path, header, numbers, lengths)
    outside = (destination < 1) | (destination > header.vertices)
    if outside.any():
        at = int(outside.argmax())
        problem = f"vertex {source[at]} has neighbour {destination[at]}, but there are {header.vertices} vertices"
        raise FileError(problem, path=path, remedy=f"ids run from 1 to {header.vertices}; also check fmt in the header")
    directed, kept = _direction(path, header, source, destination, weights)
    weighted = keep_weight(path, weight, weights is not None, "according to fmt in the header, edges have no weights")
    table = {"source": source[kept], "destination": destination[kept]} | ({"weight": weights[kept]} if weighted else {})
    ids = range(1, header.vertices + 1)
    vertices = pa.table({"id": np.arange(1, header.vertices + 1), **attributes}) if attributes else ids
    return EdgeList(pa.table(table), "source", "destination", "weight" if weighted else None, directed, vertices)


def _header(path: str, data: bytes) -> tuple[MetisHeader, bytes]:
    found = _HEADER_LINE.search(data)
    if found is None:
        raise FileError("no header, only blank and comment lines", path=path, remedy="start with `vertices edges`")
    text, at, line = found[0].strip(), found.end() + 1, data.count(b"\n", 0, found.start()) + 1
    words = text[:_HEADER].decode("utf-8", errors="replace").split()
    shown = " ".join(words)[:60]
    if not 2 <= len(words) <= 4 or not all(re.fullmatch("[0-9]{1,18}", word) for word in words):
        problem = f"header {shown!r} must be `vertices edges [fmt [ncon]]`"
        raise FileError(problem, path=path, line=line, remedy="for another format, set format=")
    fmt = words[2] if len(words) > 2 else "0"
    if not _FORMAT.fullmatch(fmt):
        problem = f"fmt {fmt!r} in the header must be one of 0, 1, 10, 11, 100, 101, 110, 111"
        remedy = "its digits stand for vertex sizes, vertex weights, edge weights"
        raise FileError(problem, path=path, line=line, remedy=remedy)
    sizes, loads, weighted = (digit == "1" for digit in fmt.zfill(3))
    constraints = (int(words[3]) if len(words) > 3 else 1) if loads else 0
    if constraints > _MOST_WEIGHTS:
        problem, remedy = f"ncon is {constraints} in the header", f"a vertex has at most {_MOST_WEIGHTS:,} weights"
        raise FileError(problem, path=path, line=line, remedy=remedy)
    body, vertices, edges = data[at:], int(words[0]), int(words[1])
    declared_sizes.items(path, vertices * constraints, "weights of vertices", len(body), each=2, line=line)
    return MetisHeader(vertices, edges, sizes, constraints, weighted, line), body


def _numbers(path: str, body: bytes, header: MetisHeader) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of the rows, and the count of each row."""
    if b"%" in body:
        body = _COMMENT.sub(b"", body)
    strange = body.translate(None, b"0123456789 \t\n\r-+.eE")
    if strange:
        at = body.index(strange[:1])
        row = body.count(b"\n", 0, at) + 1
        problem = f"{strange[:1]!r} in the row of vertex {row}"
        raise FileError(problem, path=path, remedy="rows may contain only numbers")
    rows = body.count(b"\n") + (not body.endswith(b"\n") and bool(body))
    if rows > header.vertices:
        spare = body.rstrip()
        rows = max(spare.count(b"\n") + bool(spare), header.vertices)
        if rows > header.vertices:
            problem = f"{rows} rows, but the header declares {header.vertices} vertices"
            raise FileError(problem, path=path, remedy="correct the header or the rows")
    need = _EACH * len(body) + _EACH_NUMBER * (body.count(b" ") + body.count(b"\t")) + (_EACH_ROW + _EACH_NUMBER) * rows
    declared_sizes.memory(path, need, "its rows")
    signs = np.frombuffer(body, np.uint8)
    blank = (signs == 32) | ((signs >= 9) & (signs <= 13))
    starts = ~blank
    starts[1:] &= blank[:-1]
    begin = np.flatnonzero(starts)
    lines = np.flatnonzero(signs == 10)
    if header.vertices > max(len(begin), len(lines)) + 1 and header.vertices > 1 << 20:
        _short(path, header, rows)
    lengths = np.bincount(np.searchsorted(lines, begin), minlength=header.vertices)[: max(header.vertices, 0)]
    decimal = any(sign in body for sign in b".eE")
    ends = np.append(np.flatnonzero(blank[1:] & ~blank[:-1]) + 1, len(signs))[: len(begin)]
    if len(begin) and int((ends - begin).max()) > (40 if decimal else 18):
        remedy = "ids run from 1 to the number of vertices"
        raise FileError("a number has more than 18 digits", path=path, remedy=remedy)
    with paths.explain_failure(path, "not a number", "rows may contain only numbers", (ValueError, OverflowError)):
        if not decimal and b"-" not in body and b"+" not in body:
            numbers = np.fromstring(body, dtype=np.int64, sep=" ") if len(begin) else np.empty(0, np.int64)
        else:
            numbers = np.array(body.split(), dtype=np.float64)
    if rows < header.vertices and len(numbers) < header.edges:
        _short(path, header, rows)
    return numbers, lengths


def _short(path: str, header: MetisHeader, rows: int) -> NoReturn:
    problem = f"{rows} rows, but the header declares {header.vertices} vertices"
    raise FileError(problem, path=path, remedy="the file is truncated: download it again")


def _rows(path: str, header: MetisHeader, numbers: np.ndarray, lengths: np.ndarray):
    """(source, destination, weights, vertex attributes)."""
    before, step = header.sizes + header.constraints, 1 + header.weighted
    ragged = (lengths < before) | ((lengths - before) % step != 0)
    if ragged.any():
        row = int(ragged.argmax())
        form = ["size"] * header.sizes + ["weight"] * header.constraints + ["(neighbour weight)..."] * header.weighted
        problem = f"vertex {row + 1} has {lengths[row]} numbers instead of {' '.join(form)}"
        raise FileError(problem, path=path, remedy="check the row, and fmt in the header")
    first = np.cumsum(lengths) - lengths
    names = ["size"] * header.sizes
    names += ["weight"] if header.constraints == 1 else [f"weight{k}" for k in range(header.constraints)]
    attributes = {name: numbers[first + place] for place, name in enumerate(names)}
    listed = np.ones(len(numbers), bool)
    for place in range(before):
        listed[first + place] = False
    rest = numbers[listed]
    source = np.repeat(np.arange(1, header.vertices + 1), (lengths - before) // step)
    destination = rest[::step]
    weights = rest[1::step] if header.weighted else None
    if destination.dtype != np.int64:
        if ((destination != np.floor(destination)) | (np.abs(destination) > 2**53)).any():
            raise FileError("the id of a neighbour is not a whole number", path=path, remedy="check fmt in the header")
        destination = destination.astype(np.int64)
        if weights is not None and (weights == np.floor(weights)).all() and np.abs(weights).max(initial=0) < 2**53:
            weights = weights.astype(np.int64)
    return source, destination, weights, attributes


def _direction(path, header: MetisHeader, source, destination, weights) -> tuple[bool, np.ndarray]:
    """Whether the rows are directed, and which listings to keep."""
    loop = source == destination
    loops, listings = int(loop.sum()), len(source)
    pairs, odd = divmod(listings - loops, 2)
    once = not odd and pairs + loops == header.edges  # if a loop is listed once in its row
    twice = not odd and loops % 2 == 0 and pairs + loops // 2 == header.edges
    if not once and not twice:
        if listings == header.edges:
            return True, np.arange(listings)
        problem = f"{listings} neighbours are listed, but the header's {header.edges} edges need {2 * header.edges}"
        raise FileError(problem, path=path, line=header.line, remedy="the file is truncated or its header is wrong")
    forward, back = np.flatnonzero(source < destination), np.flatnonzero(source > destination)
    keys = (destination, source) if weights is None else (weights, destination, source)
    mirrored = (source, destination) if weights is None else (weights, source, destination)
    forward_sorted = forward[np.lexsort([key[forward] for key in keys])]
    back_sorted = back[np.lexsort([key[back] for key in mirrored])]
    if len(forward) != len(back) or any(
        (key[forward_sorted] != other[back_sorted]).any() for key, other in zip(keys, mirrored, strict=True)
    ):
        u, v = _unmatched(source, destination, weights, forward, back)
        problem = f"edge {u} - {v} is not listed in the same way in the rows of both its vertices"
        raise FileError(problem, path=path, remedy="METIS graphs are undirected: list it in both, with the same weight")
    own = np.flatnonzero(loop)
    return False, np.sort(np.concatenate([forward, own if once else own[::2]]))


def _unmatched(source, destination, weights, forward, back) -> tuple[int, int]:
    def keys(ends: np.ndarray, other: np.ndarray, at: np.ndarray) -> list[tuple]:
        return list(zip(ends[at], other[at], *([] if weights is None else [weights[at]]), strict=True))

    difference = set(keys(source, destination, forward)) ^ set(keys(destination, source, back))
    first = min(difference) if difference else (source[forward[0]], destination[forward[0]])
    return int(first[0]), int(first[1])


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Writes an undirected graph with vertices 1..n and integer weights, as METIS requires."""
    if edge_list.directed:
        raise OptionError(f"{path}: METIS graphs are undirected, but the edges are directed (write .mtx, .gr or .csv)")
    source, destination, weights, n = one_based_edges(edge_list, path, "METIS")
    if weights is not None and weights.dtype.kind == "f":
        bad = weights[~(np.isfinite(weights) & (weights == np.floor(weights)) & (np.abs(weights) < 2**53))]
        if len(bad):
            problem = f"METIS weights must be whole numbers, got {bad[0]}"
            raise WeightError(f"{path}: {problem} (write .mtx or .csv, or round them)")
        weights = weights.astype(np.int64)
    if weights is not None and len(weights) and (weights.min() < 1 or int(weights.max()) >= 10**18):
        bad = weights.min() if weights.min() < 1 else weights.max()
        raise WeightError(f"{path}: METIS weights must be from 1 to 10**18, got {bad} (write .mtx or .csv)")
    loop = source == destination
    rows = np.concatenate([source, destination[~loop]])
    listed = np.concatenate([destination, source[~loop]])
    order = np.lexsort((listed, rows)) if n >= 3_000_000_000 else np.argsort(rows * (n + 1) + listed)
    numbers = listed[order]
    if weights is not None:
        numbers = np.stack([numbers, np.concatenate([weights, weights[~loop]])[order]], axis=1).ravel()
    lengths = np.bincount(rows, minlength=n + 1)[1:] * (1 if weights is None else 2)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    with files.atomic(path) as stream:
        stream.write(f"{n} {len(source)}{'' if weights is None else ' 1'}\n".encode())
        for start in range(0, n, _LINES):
            offsets = ends[start : start + _LINES + 1]
            texts = pc.cast(pa.array(numbers[offsets[0] : offsets[-1]]), pa.string())
            rows_of_text = pa.ListArray.from_arrays(pa.array(offsets - offsets[0], pa.int32()), texts)
            stream.write(("\n".join(pc.binary_join(rows_of_text, " ").to_pylist()) + "\n").encode())
