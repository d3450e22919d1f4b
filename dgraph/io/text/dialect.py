"""Detects how a delimited text file is written from its first lines: delimiter, comment lines, header.

A first line with text above numbers, or with names like `source,target`, is a header; `header=` overrides the guess.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dgraph.errors import FileError
from dgraph.io import files, paths

HEAD = 1 << 18
SAMPLE = 100  # rows
BLANKS = " "  # this delimiter stands for any run of blanks and tabs
COMMENTS = ("#", "%")
MISSING = ("", "\\N")  # how text files denote missing values
GAPS = (*MISSING, "NA", "N/A", "nan", "NaN", "null", "NULL", "None")  # and how they do so among numbers
_CHOICES = (",", "\t", ";", "|", BLANKS)
_FIRST_CHOICE = {".csv": (",",), ".tsv": ("\t",), ".tab": ("\t",), ".el": (BLANKS,), ".wel": (BLANKS,)}
_NAMES = {"source", "src", "from", "target", "dst", "dest", "destination", "to", "id1", "id2", "id_1", "id_2"}
_NAMES |= {"node1", "node2", "node_1", "node_2", "fromnodeid", "tonodeid"}
_FIELD = re.compile(r"[^ \t\r\n\v\f]+")
_DECIMAL_COMMA = re.compile(r"[^;,]*(;[^;,]*)+;\s*[-+]?\d+,\d+\s*(;[^;,]*)*")
_NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf|infinity|nan)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How a text file is written. Columns without a header are called `column0`, `column1`, ... Values may be quoted,
    except between blanks."""

    delimiter: str
    names: tuple[str, ...]
    header: bool = False
    skip: int = 0  # lines before the first row: comments, blank lines and the header
    comments: tuple[str, ...] = COMMENTS
    bare_cr: bool = False  # lines end in a carriage return only
    trim: bool = False  # ignore blanks next to the delimiter
    doubtful: tuple[str, ...] = ()  # a first row that is read as an edge but may be a header
    sample: tuple[tuple[str, ...], ...] = ()  # some rows from the head

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each column; fast even if there are very many columns."""
        return {name: place for place, name in enumerate(self.names)}

    def looks_numeric(self, name: str) -> bool:
        """Whether the values of a column are numbers, judging by the head of the file; some may be missing."""
        return all(looks_like_number(field) or field.strip() in GAPS for field in self.sampled([name]))

    def sampled(self, names: Iterable[str]) -> list[str]:
        """The values of some columns in the head of the file."""
        places = [self.places[name] for name in names]
        return [row[place] for row in self.sample for place in places if place < len(row)]


def looks_like_number(field: str) -> bool:
    return _NUMBER.fullmatch(field) is not None


def split_line(line: str, delimiter: str) -> list[str]:
    if delimiter == BLANKS:
        return _FIELD.findall(line)
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def read_head(path: str) -> bytes:
    with io.BufferedReader(files.open_bytes(path), HEAD) as stream:
        head = stream.read(HEAD)
    if not head:
        raise FileError("the file is empty after decompression", path=path, remedy="write or download it again")
    return head


def check_text(block: bytes, path: str) -> None:
    if block.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError("the text is UTF-16", path=path, line=1, remedy="save it as UTF-8")
    if b"\0" in block:
        raise FileError("a binary file: it contains a NUL byte", path=path, remedy="give its format with format=")


def sniff(
    path: str, *, delimiter: str | None = None, header: bool | None = None, expected: tuple[str, ...] = ()
) -> Dialect:
    """The dialect of the file. `expected` names columns that the caller asks for, which help to detect a header."""
    head = read_head(path)
    check_text(head, path)
    whole, bare_cr = len(head) < HEAD, b"\r" in head and b"\n" not in head
    lines = _lines(head, whole, bare_cr)
    comment, rows = _first_rows(lines)
    if not rows:
        words = tuple(split_line(comment, BLANKS))
        if whole and len(words) > 1 and _NAMES.issuperset(words[:2]):  # column names without rows
            return Dialect(BLANKS, words, skip=len(lines))
        if whole:
            problem = "no row of data, only blank and comment lines"
            raise FileError(problem, path=path, remedy="write or download it again")
        raise FileError(f"no row of data in the first {HEAD} bytes", path=path, remedy="shorten the leading comment")
    if delimiter is None:
        delimiter = _delimiter(rows, paths.split_suffix(path)[1])
    if delimiter is None:
        problem = f"only one column: {rows[0][1][:60]!r} has no delimiter"
        remedy = "an edge needs two ids; set format=dg.Text(delimiter=...)"
        raise FileError(problem, path=path, line=rows[0][0] + 1, remedy=remedy)
    if delimiter != BLANKS:
        rows = _records(rows)
    split = [tuple(split_line(line, delimiter)) for _, line in rows]
    commented = len(split_line(comment, delimiter)) == len(split[0]) and set(expected).isdisjoint(split[0])
    named = header if header is not None else not commented and has_header(split, expected)
    first = split[0]
    names = _unique([field.strip() for field in first]) if named else tuple(f"column{i}" for i in range(len(first)))
    skip = rows[0][0] + (1 + rows[0][1].count("\n") if named else 0)
    guessed = header is None and not named and not commented and delimiter != BLANKS
    recurs = not {field for row in split[1:] for field in row}.isdisjoint(first)  # ids recur, column names do not
    spaced = delimiter != BLANKS and any(field != field.strip() for row in split for field in row)
    return Dialect(
        delimiter,
        names,
        header=named,
        skip=skip,
        bare_cr=bare_cr,
        trim=spaced and b'"' not in head,
        doubtful=first if guessed and not recurs and not any(map(looks_like_number, first)) else (),
        sample=tuple(split[1:] if named else split),
    )


def _lines(head: bytes, whole: bool, bare_cr: bool) -> list[str]:
    text = head.decode("utf-8-sig", errors="replace")
    lines = text.replace("\r", "\n").split("\n") if bare_cr else [line.rstrip("\r") for line in text.split("\n")]
    if not whole and len(lines) > 1:
        lines.pop()
    return lines


def _first_rows(lines: Sequence[str]) -> tuple[str, list[tuple[int, str]]]:
    """The last comment before the first row, which may name the columns, and some rows with their line numbers."""
    comment, rows = "", list[tuple[int, str]]()
    for number, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith(COMMENTS):
            rows.append((number, line))
            if len(rows) == SAMPLE:
                break
        elif not rows and line.strip():
            comment = line.strip().lstrip("".join(COMMENTS))
    return comment, rows


def _records(rows: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Join lines where a quoted value contains a line break. A last record without its closing quote is left out."""
    records: list[tuple[int, str]] = []
    first, text = 0, ""
    for number, line in rows:
        first, text = (first, f"{text}\n{line}") if text else (number, line)
        if text.count('"') % 2 == 0:
            records.append((first, text))
            text = ""
    return records or rows


def _delimiter(rows: list[tuple[int, str]], suffix: str) -> str | None:
    records, lines = [line for _, line in _records(rows)], [line for _, line in rows]
    choices = list(dict.fromkeys([*_FIRST_CHOICE.get(suffix, ()), *_CHOICES]))
    if all(_DECIMAL_COMMA.fullmatch(line) for line in records):
        choices = [";"]

    def fits(choice: str) -> bool:
        counts = {len(split_line(line, choice)) for line in (lines if choice == BLANKS else records)}
        return len(counts) == 1 and counts.pop() >= 2

    chosen = next(filter(fits, choices), None)
    edges_blank = any(line[:1] in " \t" or line[-1:] in " \t" for line in lines)
    if chosen == "\t" and edges_blank and BLANKS in choices and fits(BLANKS):
        return BLANKS
    return chosen or next((choice for choice in choices if len(split_line(lines[0], choice)) >= 2), None)


def has_header(rows: Sequence[Sequence[str]], expected: tuple[str, ...] = ()) -> bool:
    first, rest = [field.strip() for field in rows[0]], rows[1:]
    if any(looks_like_number(field) for field in first):
        return False
    if (expected and set(expected) <= set(first)) or sum(field.lower() in _NAMES for field in first) >= 2:
        return True
    numeric = [bool(column) and all(map(looks_like_number, column)) for column in zip(*rest, strict=False)]
    return any(numeric[2:]) or (any(numeric) and (all(numeric[:2]) or len(rest) > 2))


def _unique(names: list[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}.{seen[name] - 1}")
    return tuple(result)
