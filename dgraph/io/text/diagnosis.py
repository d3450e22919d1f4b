"""Which line of a text file is at fault: the slow second reading, made only after the fast one has failed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn, overload

from dgraph.errors import FileError, IdError, WeightError
from dgraph.io import files
from dgraph.io.text.dialect import BLANKS, Dialect, looks_like_number, split_line

MISSING = ("", "\\N")  # how a text file says that a value is missing
GAPS = (*MISSING, "NA", "N/A", "nan", "NaN", "null", "NULL", "None")  # and how it says so among numbers
ARROWS = ("->", "-->", "=>", "==>", "--", "<-", "<--", "<->", "\N{RIGHTWARDS ARROW}")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DIGITS = re.compile(r"-?[0-9]+")
_SMALLEST, _LARGEST_SIGNED, _LARGEST = -(2**63), 2**63 - 1, 2**64 - 1


@overload
def explain(path: str, dialect: Dialect, kinds: Mapping[str, str], cause: None) -> None: ...
@overload
def explain(
    path: str, dialect: Dialect, kinds: Mapping[str, str], cause: object, *, integers: bool = ..., gaps: bool = ...
) -> NoReturn: ...
def explain(path, dialect, kinds, cause, *, integers=False, gaps=False):
    """Raise the error of the first line at fault; without a cause, a file without fault is let through.

    `integers`: were it not for the size of some, the ids would be read as integers; `gaps`: for words that say that a
    number is missing.
    """
    sizes = _Sizes(path)
    for line, row in _rows(path, dialect):
        if len(row) != len(dialect.names):
            problem = (
                f"{_count(len(row))} where {_count(len(dialect.names))} {_is(dialect.names)} expected: {_show(row)}"
            )
            raise FileError(problem, path=path, line=line, remedy="every row needs the same fields; correct this line")
        for name, field in zip(dialect.names, row, strict=True):
            kind = kinds.get(name)
            if kind == "id":
                if field in MISSING:
                    raise IdError(
                        f"{path}, line {line}: the id in column {name!r} is missing (fill it in, or drop the row)"
                    )
                if gaps and field in GAPS:
                    remedy = 'fill it in, or drop the row; id_type="string" takes it for a name'
                    raise IdError(f"{path}, line {line}: id {field!r} in column {name!r} is no number ({remedy})")
                if integers and _INTEGER.fullmatch(field):
                    sizes.check(line, field)
            elif kind == "weight":
                _check_weight(path, line, name, field)
            elif kind in _IS_ONE and not _IS_ONE[kind](field):
                if kind == "integer" and kinds.get("*") == "id":
                    raise IdError(
                        f'{path}, line {line}: id {field!r} is not a 64-bit integer (read it with id_type="string")'
                    )
                raise FileError(f"{field!r} is not {_CALLED[kind]}", path=path, line=line, remedy="correct this line")
    if cause is not None:
        raise FileError(f"cannot be parsed: {cause}", path=path, remedy="check its delimiter and its quotes")


def refuse_arrows(path: str, dialect: Dialect, ends: tuple[int, int]) -> None:
    """Refuse rows as `a -> b` where nobody has said which columns are the ends: all edges would lead to one vertex,
    which is called "->"."""
    sample = [row for row in dialect.sample if len(row) > max(ends)]
    if sample and all(any(row[end] in ARROWS for end in ends) for row in sample):
        problem = f"an arrow between the ids would be one itself: {_show(list(sample[0]))}"
        raise FileError(problem, path=path, remedy="name the columns on its two sides: source=0, destination=2")


class _Sizes:
    """Whether the whole numbers of a file fit into one type of 64 bits."""

    def __init__(self, path: str):
        self.path = path
        self.negative = self.huge = ""  # the first such id

    def check(self, line: int, field: str) -> None:
        value = int(field) if len(field) < 25 else _LARGEST + 1
        if not _SMALLEST <= value <= _LARGEST:
            remedy = 'read it with id_type="string", or number the vertices anew'
            raise IdError(f"{self.path}, line {line}: id {field} is beyond 64 bits ({remedy})")
        self.negative = self.negative or (field if value < 0 else "")
        self.huge = self.huge or (field if value > _LARGEST_SIGNED else "")
        if self.negative and self.huge:
            remedy = 'no 64-bit integer type holds both; read them with id_type="string"'
            raise IdError(f"{self.path}, line {line}: ids {self.negative} and {self.huge} in one file ({remedy})")


def _check_weight(path: str, line: int, name: str, field: str) -> None:
    if field.strip() in GAPS:
        remedy = "fill it in, drop the row, or read the file without weight="
        raise WeightError(f"{path}, line {line}: the weight in column {name!r} is missing ({remedy})")
    if not looks_like_number(field):
        remedy = "correct it, or name another column as weight="
        if looks_like_number(field.replace(".", "").replace(",", "")):
            remedy = "pandas.read_csv knows decimal=',' and thousands=','; give its frame to Graph.from_edges"
        raise WeightError(f"{path}, line {line}: weight {field!r} in column {name!r} is not a number ({remedy})")


def _is_within(field: str, least: int, most: int) -> bool:
    return _DIGITS.fullmatch(field) is not None and least <= int(field[:25]) <= most


# the kinds of columns of which a format fixes the type
_IS_ONE: dict[str | None, Callable[[str], bool]] = {
    "integer": lambda field: _is_within(field, _SMALLEST, _LARGEST_SIGNED),
    "unsigned": lambda field: _is_within(field, 0, _LARGEST),
    "number": looks_like_number,
}
_CALLED = {"integer": "a 64-bit integer", "unsigned": "an unsigned 64-bit integer", "number": "a number"}


def _rows(path: str, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    with files.open_bytes(path) as stream:
        newline = None if dialect.bare_cr or dialect.delimiter == BLANKS else ""
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline)
        line = dialect.skip
        try:
            for _ in range(dialect.skip):
                text.readline()
            if dialect.delimiter == BLANKS:
                for line, raw in enumerate(text, start=dialect.skip + 1):
                    if raw.strip() and not raw.lstrip().startswith(dialect.comments or "\n"):
                        yield line, split_line(raw, BLANKS)
                return
            reader = csv.reader(text, delimiter=dialect.delimiter)
            for row in reader:
                line = dialect.skip + reader.line_num
                if row and not row[0].lstrip().startswith(dialect.comments or "\n"):
                    yield line, [field.strip() for field in row] if dialect.trim else row
        except UnicodeDecodeError as error:
            problem = f"byte {error.object[error.start : error.start + 1]!r} after line {line} is not UTF-8"
            raise FileError(problem, path=path, remedy="save the file as UTF-8") from error
        except csv.Error as error:
            raise FileError(f"broken quotes or an endless field: {error}", path=path, line=line + 1) from error


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"


def _is(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"


def _show(row: list[str]) -> str:
    text = " ".join(row)
    return repr(text if len(text) <= 60 else text[:57] + "...")
