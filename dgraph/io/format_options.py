"""The options of formats as values: how text is written, and whether files are read block by block."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, Literal

from dgraph.arguments import assign, check_flag, check_integer_or_auto, shown, value
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_option
from dgraph.phrases.suggestions import nearest


@value
class Text:
    """Options for text files with one edge per line: how they are written, and how to read them.

    ``format="text"`` is equivalent to ``dg.Text()``.

    Parameters
    ----------
    delimiter : str, optional
        The character between columns; ``" "`` means any run of blanks and tabs. By default it is guessed.
    header : bool, optional
        Whether the first line holds the names of columns. By default it is guessed.
    lazy : bool, optional
        Whether to read block by block. By default True on a cluster, and in this process for files that are large
        compared with the free memory.
    block_size : int or "auto", default "auto"
        Size of a block in bytes, if text is read block by block.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.

    Examples
    --------
    >>> dg.Text(delimiter=";", lazy=True)
    dg.Text(delimiter=';', lazy=True)
    """

    delimiter: str | None = None
    header: bool | None = None
    lazy: bool | None = None
    block_size: int | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if self.delimiter is not None and not (isinstance(self.delimiter, str) and len(self.delimiter.encode()) == 1):
            problem = f"{shown('delimiter', self.delimiter)} must be one character"
            raise OptionError(f"{problem} (' ' stands for any run of blanks)")
        _check_flags(self, "header", "lazy")
        assign(self, "block_size", check_integer_or_auto("block_size", self.block_size))


@value
class Parquet:
    """Options for reading Parquet files.

    ``format="parquet"`` is equivalent to ``dg.Parquet()``.

    Parameters
    ----------
    lazy : bool, optional
        Whether to read block by block. By default True on a cluster, and in this process for files that are large
        compared with the free memory.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.

    Examples
    --------
    >>> dg.Parquet(lazy=True)
    dg.Parquet(lazy=True)
    """

    lazy: bool | None = None

    def __post_init__(self) -> None:
        _check_flags(self, "lazy")


FORMAT_VALUES: dict[str, Any] = {"text": Text, "parquet": Parquet}  # the formats that have options


def _check_flags(self: Any, *names: str) -> None:
    for name in names:
        if getattr(self, name) is not None:
            assign(self, name, check_flag(name, getattr(self, name)))


def _fields(format: str) -> list[str]:
    return [one.name for one in fields(FORMAT_VALUES[format])] if format in FORMAT_VALUES else []


OPTIONS = tuple(_fields("text"))  # Parquet has a subset of these


def name_of_format(given: Any) -> str | None:
    """The name of a format, given the option `format=` as a name or as a value with options."""
    if given is None or isinstance(given, str):
        return given
    for name, made in FORMAT_VALUES.items():
        if isinstance(given, made):
            return name
        if given is made:
            raise OptionError(f"format=dg.{made.__name__} is a class; write dg.{made.__name__}() or {name!r}")
    raise OptionError(f"{shown('format', given)} is not a format; pass a name, dg.Text(...) or dg.Parquet(...)")


def format_with(path: str | os.PathLike, name: str, options: Mapping[str, Any]) -> Any:
    """The value of a format with these options, for the command line and benchmark suites, which pass them one by
    one."""
    for option, given in options.items():
        if option not in _fields(name):
            others = " and ".join(other for other in FORMAT_VALUES if option in _fields(other))
            raise OptionError(f"{path}: {name} has no option {format_option(option, given)}; {others} has it")
    return FORMAT_VALUES[name](**options)


def options_of_formats(known: Collection[str], given: dict[str, Any]) -> None:
    """Refuse options of a format, perhaps misspelt, that are given to a function with the parameters `known`."""
    meant = {
        name: near for name in given if name not in known and (near := nearest(name, [*OPTIONS, *known])) in OPTIONS
    }
    if not meant:
        return
    said = " and ".join(format_option(name, given[name]) for name in meant)
    written = ", ".join(f"{option}={given[name]!r}" for name, option in meant.items())
    fits = [made for name, made in FORMAT_VALUES.items() if set(meant.values()) <= set(_fields(name))]
    calls = " or ".join(f"format=dg.{made.__name__}({written})" for made in fits)
    raise OptionError(f"{said} {'is an option' if len(meant) == 1 else 'are options'} of the format: write {calls}")
