"""Finds the invalid line of a text file in a slow second pass, after the fast reader has failed."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from dgraph.errors import FileError, IdError, WeightError
from dgraph.io import files, paths
from dgraph.io.text.dialect import BLANKS, GAPS, MISSING, Dialect, looks_like_number, split_line
from dgraph.phrases.phrases import format_count

ARROWS = ("->", "-->", "=>", "==>", "--", "<-", "<--", "<->", "\N{RIGHTWARDS ARROW}")
EXAMINED, EXAMINED_LINES = 64 << 20, 1 << 24  # bytes and lines of compressed content that are searched for a fault
_FEW = 100  # with more columns than this, `_sound_line` makes no pattern
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DIGITS = re.compile(r"-?[0-9]+")
_SMALLEST, _LARGEST_SIGNED, _LARGEST = -(2**63), 2**63 - 1, 2**64 - 1


def explain(path: str, dialect: Dialect, kinds: Mapping[str, str], cause: object, **options: bool) -> NoReturn:
    """Raise the error of the first invalid line, or if there is none, an error that names `cause`."""
    check_lines(path, dialect, kinds, **options)
    raise FileError(f"cannot be parsed: {cause}", path=path, remedy="check the delimiter and the quotes")


def check_lines(
    path: str, dialect: Dialect, kinds: Mapping[str, str], *, integers: bool = False, gaps: bool = False
) -> None:
    """Raise the error of the first invalid line.

    `integers` checks that integer ids fit into 64 bits; `gaps` refuses words like NA as ids.
    """
    sizes = _IdSizes(path)
    for line, row in _doubtful_rows(path, dialect, _sound_line(dialect, kinds, gaps)):
        if len(row) != len(dialect.names):
            problem = f"expected {format_count(len(dialect.names), 'field')}, got {len(row)}: {_show(row)}"
            raise FileError(problem, path=path, line=line, remedy="all rows need the same fields; correct this line")
        for name, field in zip(dialect.names, row, strict=True):
            kind = kinds.get(name, "")
            if kind == "id":
                where, remedy = f"{path}, line {line}", "fill it in, or drop the row"
                if field in MISSING:
                    raise IdError(f"{where}: the id in column {name!r} is missing ({remedy})")
                if gaps and field in GAPS:
                    remedy += '; id_type="string" reads it as a name'
                    raise IdError(f"{where}: id {field!r} in column {name!r} is not a number ({remedy})")
                if integers and _INTEGER.fullmatch(field):
                    sizes.check(line, field)
            elif kind == "weight":
                _check_weight(path, line, name, field)
            elif kind in _FITS_KIND and not _FITS_KIND[kind](field):
                if kind == "integer" and kinds.get("*") == "id":
                    problem = f"{path}, line {line}: id {field!r} is not a 64-bit integer"
                    raise IdError(f'{problem} (read the file with id_type="string")')
                problem = f"{field!r} is not {_KIND_TEXTS[kind]}"
                raise FileError(problem, path=path, line=line, remedy="correct this line")


def refuse_arrows(path: str, dialect: Dialect, ends: tuple[int, int]) -> None:
    """Refuse rows like `a -> b` if the ends are not given: all edges would lead to one vertex called "->"."""
    sample = [row for row in dialect.sample if len(row) > max(ends)]
    if sample and all(any(row[end] in ARROWS for end in ends) for row in sample):
        problem = f"an arrow between the ids would be read as an id: {_show(list(sample[0]))}"
        raise FileError(problem, path=path, remedy="give the columns on both sides: source=0, destination=2")


class _IdSizes:
    """Checks that the integers of a file fit into one 64-bit type."""

    def __init__(self, path: str):
        self.path = path
        self.negative = self.huge = ""  # the first such id

    def check(self, line: int, field: str) -> None:
        value = int(field) if len(field) < 25 else _LARGEST + 1
        if not _SMALLEST <= value <= _LARGEST:
            remedy = 'read the file with id_type="string", or renumber the vertices'
            raise IdError(f"{self.path}, line {line}: id {field} does not fit into 64 bits ({remedy})")
        self.negative = self.negative or (field if value < 0 else "")
        self.huge = self.huge or (field if value > _LARGEST_SIGNED else "")
        if self.negative and self.huge:
            remedy = 'no 64-bit integer type holds both; read the file with id_type="string"'
            raise IdError(f"{self.path}, line {line}: ids {self.negative} and {self.huge} in one file ({remedy})")


def _check_weight(path: str, line: int, name: str, field: str) -> None:
    if field.strip() in GAPS:
        remedy = "fill it in, drop the row, or read the file with weight=None"
        raise WeightError(f"{path}, line {line}: the weight in column {name!r} is missing ({remedy})")
    if not looks_like_number(field):
        remedy = "correct it, give another column with weight=, or read the file with weight=None"
        if looks_like_number(field.replace(".", "").replace(",", "")):
            remedy = "use pandas.read_csv with decimal=',' or thousands=',' and pass its frame to Graph.from_edges"
        raise WeightError(f"{path}, line {line}: weight {field!r} in column {name!r} is not a number ({remedy})")


def _is_within(field: str, least: int, most: int) -> bool:
    return _DIGITS.fullmatch(field) is not None and least <= int(field[:25]) <= most


# the kinds of columns whose type the format fixes
_FITS_KIND: dict[str, Callable[[str], bool]] = {
    "integer": lambda field: _is_within(field, _SMALLEST, _LARGEST_SIGNED),
    "unsigned": lambda field: _is_within(field, 0, _LARGEST),
    "number": looks_like_number,
}
_KIND_TEXTS = {"integer": "a 64-bit integer", "unsigned": "an unsigned 64-bit integer", "number": "a number"}


def _sound_line(dialect: Dialect, kinds: Mapping[str, str], gaps: bool) -> re.Pattern[str] | None:
    """A pattern that matches most lines without a fault, to search a long file quickly; None if there are many
    columns."""
    if len(dialect.names) > _FEW:
        return None
    blanks, delimiter = dialect.delimiter == BLANKS, re.escape(dialect.delimiter)
    field = {"": r"[^\s\"]+" if blanks else rf"[^\r\n\"{delimiter}]*"}
    field["id"] = r"[0-9]{1,18}" if gaps else r"[0-9]{1,18}|[^\W\d]\w*"
    whole, part = r"-?[0-9]{1,18}", r"(?:\.[0-9]{1,18})?"
    field |= {"integer": whole, "unsigned": r"[0-9]{1,18}", "number": whole + part, "weight": whole + part}
    fields = [f"(?:{field.get(kinds.get(name, ''), field[''])})" for name in dialect.names]
    return re.compile((r"[ \t]+" if blanks else delimiter).join(fields) + r"[\r\n]*")


def _doubtful_rows(path: str, dialect: Dialect, sound: re.Pattern[str] | None) -> Iterator[tuple[int, list[str]]]:
    """The rows that may have a fault, with their line numbers. Compressed content is examined up to `EXAMINED` bytes
    and `EXAMINED_LINES`."""
    with files.open_bytes(path) as stream:
        newline = None if dialect.bare_cr or dialect.delimiter == BLANKS else ""
        text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline=newline)
        compressed, growth, line = paths.split_suffix(path)[2], stream.growth, dialect.skip
        try:
            for _ in range(dialect.skip):
                text.readline()
            lines = _examined(text, growth) if compressed else text
            for line, raw in enumerate(lines, start=dialect.skip + 1):
                if sound is not None and sound.fullmatch(raw):
                    continue
                if dialect.delimiter != BLANKS:
                    if '"' in raw:  # from here on, a line may end inside a value
                        for line, row in _records(itertools.chain([raw], lines), dialect, line):  # noqa: B020
                            yield line, row
                        return
                    raw = raw.rstrip("\r\n")
                if raw.strip() and not raw.lstrip().startswith(dialect.comments or "\n"):
                    yield line, _fields(raw, dialect)
        except UnicodeDecodeError as error:
            problem = f"byte {error.object[error.start : error.start + 1]!r} after line {line} is not UTF-8"
            raise FileError(problem, path=path, remedy="save the file as UTF-8") from error
        except csv.Error as error:
            problem = f"invalid quotes or a field that is too long: {error}"
            raise FileError(problem, path=path, line=line + 1, remedy="correct the quotes or the field") from error


def _examined(lines: Iterable[str], growth: Any) -> Iterator[str]:
    """The first lines of compressed content."""
    for line in itertools.islice(lines, EXAMINED_LINES):
        if growth.content > EXAMINED:
            return
        yield line


def _fields(line: str, dialect: Dialect) -> list[str]:
    fields = split_line(line, dialect.delimiter)
    return [field.strip() for field in fields] if dialect.trim else fields


def _records(lines: Iterator[str], dialect: Dialect, first: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of lines in which values may be quoted."""
    reader = csv.reader(lines, delimiter=dialect.delimiter)
    for row in reader:
        if row and not row[0].lstrip().startswith(dialect.comments or "\n"):
            yield first - 1 + reader.line_num, [field.strip() for field in row] if dialect.trim else row


def _show(row: list[str]) -> str:
    text = " ".join(row)
    return repr(text if len(text) <= 60 else text[:57] + "...")
