"""Makes a command's options from the signature and docstring of the function that it calls."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from dgraph.cli.options import completion
from dgraph.errors import OptionError
from dgraph.keywords import HOW

LIST_FILES = {"starts": "start_file", "seeds": "seed_file"}  # lists of vertices, which may also stand in a file
SEVERAL = ("sources",)  # parameters that take a list of vertices, even of one: a single value means a number of them
# parameters for a result of another kind, which no command writes, or for one that `kept_answers.py` finds by its name;
# and what an option about the graph already says
NOT_HERE = {
    "betweenness": ("edges",),
    "spanning_forest": ("weighted",),
    **dict.fromkeys(("wcc", "bfs", "sssp", "pagerank", "triangles", "core_number"), ("previous",)),
}
NOTHING = "none"  # how a command line says None, for a parameter that otherwise takes one of some words
TABLES = ("previous", "pairs")  # parameters that take a table: on a command line, a file
PARAMETER_PREFIX = "of_"  # of click's names for the function's parameters, which may clash with options (`source`)


class Number(click.ParamType):
    """A number that remains an integer if written as one: `--weights 1 9` gives integer weights, `1.0 9` does not."""

    name = "number"

    def convert(self, value: Any, param: Any, context: Any) -> float:
        for kind in (int, float):
            try:
                return kind(value) if isinstance(value, str) else value
            except ValueError:
                pass
        return self.fail(f"{value!r} is not a number", param, context)


class NumberOrWord(Number):
    """A number, or a word such as `auto` that the function knows."""

    name = "number or word"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        try:
            return super().convert(value, param, context)
        except click.UsageError:
            return value


class VertexValue(click.ParamType):
    """A vertex and a number, as VERTEX=NUMBER."""

    name = "vertex=number"

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, float]:
        vertex, sign, number = str(value).rpartition("=")
        try:
            return (vertex, float(number)) if sign else self.fail(f"{value!r} is not VERTEX=NUMBER", param, context)
        except ValueError:
            return self.fail(f"{number!r} is not a number", param, context)


def split_docstring(function: Callable) -> tuple[str, dict[str, str]]:
    """The text that `--help` shows for a function and for each of its parameters, from its NumPy-style docstring.

    The text consists of the description, the returned values, and the notes.
    """
    text = (inspect.getdoc(function) or "").replace("``", "`")
    whole, *rest = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    entries = re.findall(r"^(\w[\w, ]*) : (.*)\n((?: .*\n?|\n)*)", sections.get("Parameters", ""), re.MULTILINE)
    texts = {
        name: " ".join(text.split()) + _choices(kind) for names, kind, text in entries for name in names.split(", ")
    }
    returns = inspect.cleandoc(sections.get("Returns", "").partition("\n")[2])
    return "\n\n".join(filter(None, map(str.strip, (whole, returns, sections.get("Notes", ""))))), texts


def _choices(kind: str) -> str:
    """A sentence that lists the words a parameter takes, if its type is such a list: {"a", "b"}."""
    words = re.match(r"\{(.*?)\}", kind)
    return f" One of {words[1]}." if words else ""


def hints_of(function: Callable) -> dict[str, Any]:
    """The types of a function's parameters. Its other types may be from modules that are not imported."""
    plain = inspect.unwrap(function)
    listed = {name: kind for name, kind in plain.__annotations__.items() if name not in ("graph", "return")}
    return get_type_hints(SimpleNamespace(__annotations__=listed), plain.__globals__)


def needed(function: Callable) -> list[str]:
    """The names of the parameters without a default, except `graph`."""
    every = inspect.signature(function).parameters.values()
    required = [one.name for one in every if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    return [name for name in required if name != "graph"]


def options_of(
    function: Callable, renamed: Mapping[str, str] | None = None, texts: Mapping[str, str] | None = None
) -> list[click.Option]:
    """An option for each parameter of a function, except `graph`, those about how to run, **options, and types that a
    command line cannot pass.

    A parameter of type `Any` takes a vertex and may be repeated, and one of TABLES takes a file; one of LIST_FILES gets
    a second option for a file. A boolean that is True by default becomes an option that turns it off. `renamed` maps
    parameters to names of options, and `texts` maps them to help texts that replace the docstring's. The shell
    completes the words that a help text quotes.
    """
    hints, renamed = hints_of(function), renamed or {}
    every = inspect.signature(function).parameters
    names = [
        name
        for name, one in every.items()
        if one.kind is not one.VAR_KEYWORD and name not in ("graph", *HOW, *NOT_HERE.get(function.__name__, ()))
    ]
    kinds = {name: kind for name in names if (kind := _kind(name, hints.get(name, Any)))}
    flags = {name: _flag(renamed.get(name, name)) for name in kinds}
    texts = {**split_docstring(function)[1], **(texts or {})}

    def as_flag(found: re.Match) -> str:
        """Spell `tol` as --tol, and `tol=0` as --tol 0; other names stay as they are."""
        return flags[found[1]] + (found[2] or "").replace("=", " ") if found[1] in flags else found[0]

    options = []
    for name, kind in kinds.items():
        flag, default = flags[name], every[name].default
        kind["help"] = re.sub(r"`(\w+)(=\w+)?`", as_flag, re.sub(r" or None| \(or None\)", "", texts.get(name, "")))
        if _may_be_none(hints.get(name)):
            kind["help"] = kind["help"].replace("None", f'"{NOTHING}"')
        if kind.get("multiple"):
            kind["help"] += " May be repeated."
        if kind.get("is_flag"):
            if default:
                flag = _flag(renamed.get(name, f"no_{name}"))
                kind["callback"] = _negated
        elif default is inspect.Parameter.empty:  # without a default, click takes None as a value
            kind["required"] = name not in LIST_FILES
        elif not kind.get("multiple"):
            kind["default"] = default
        if kind.get("type") is str:
            kind["shell_complete"] = completion(re.findall(r'"(\w+)"', kind["help"]))
        options.append(click.Option([flag, PARAMETER_PREFIX + name], **kind))
        if name in LIST_FILES:
            text = (
                f"File with vertices for {flag}: one per line, or a CSV or Parquet file with a column `vertex` or `id`."
            )
            option = [_flag(LIST_FILES[name]), PARAMETER_PREFIX + LIST_FILES[name]]
            options.append(click.Option(option, type=click.Path(), metavar="FILE", help=text))
    return options


def _may_be_none(hint: Any) -> bool:
    """Whether a parameter takes some words, or None."""
    return NoneType in get_args(hint) and any(get_origin(one) is Literal for one in get_args(hint))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _negated(context: click.Context, param: click.Parameter, value: bool) -> bool:
    return not value


def _kind(name: str, hint: Any) -> dict[str, Any] | None:
    """Arguments of `click.Option` for a parameter with this type hint; None if its values cannot be typed."""
    if name in TABLES:
        return {"type": click.Path(), "metavar": "FILE"}
    union = get_origin(hint) in (Union, UnionType)
    kinds = [one for one in get_args(hint) if one is not NoneType] if union else [hint]
    if {int, float} & set(kinds) and any(one is str or get_origin(one) is Literal for one in kinds):
        return {"type": NumberOrWord()}
    for kind in kinds:
        if kind is bool:
            return {"is_flag": True}
        if kind in (int, float, str):
            return {"type": kind}
        if get_origin(kind) is Literal:
            return {"type": str}
        if kind is Any:
            return {"multiple": True, "metavar": "VERTEX"}
        if get_origin(kind) is Sequence:
            return {"multiple": True, "type": Number()}
        if get_origin(kind) is tuple and set(get_args(kind)) <= {int, float}:
            return {"nargs": len(get_args(kind)), "type": Number()}
        if isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping):
            return {"multiple": True, "type": VertexValue()}
    return None


def arguments_from_options(
    function: Callable, given: Mapping[str, Any], id_of: Callable[[str], Any] = str, read: Callable[[str], Any] = str
) -> dict[str, Any]:
    """Arguments for a function from the values of the options that `options_of` made.

    `id_of` turns the text of a vertex into its id, and `read` a file into a table or a list of such texts. Options that
    were not given are left out.
    """
    hints, values = hints_of(function), {}
    for name in inspect.signature(function).parameters:
        value: Any = given.get(PARAMETER_PREFIX + name)
        if name in LIST_FILES:
            path = given[PARAMETER_PREFIX + LIST_FILES[name]]
            value = _texts(name, value, hints[name]) if path is None else [*value, *read(path)]
            values[name] = value and [id_of(text) for text in value]
            continue
        if value is None or value == ():
            continue
        kind = _kind(name, hints.get(name, Any)) or {}
        if value == NOTHING and _may_be_none(hints.get(name)):
            value = None
        elif name in TABLES:
            value = read(value)
        elif isinstance(kind.get("type"), VertexValue):
            value = _mapping([(id_of(vertex), number) for vertex, number in value], name)
        elif isinstance(kind.get("type"), Number) and kind.get("multiple"):
            value = list(value)
        elif kind.get("multiple"):
            value = [id_of(vertex) for vertex in value]
            value = value[0] if len(value) == 1 and name not in SEVERAL else value
        values[name] = value
    return values


def _texts(name: str, typed: Sequence[str], hint: Any) -> Sequence[str] | None:
    """The vertices that were typed; None if there are none and the function takes that."""
    if not typed and NoneType not in get_args(hint):
        raise OptionError(f"no vertices were given: list them by {name}= or in a file by {_flag(LIST_FILES[name])}")
    return typed or None


def _mapping(pairs: list[tuple[Any, float]], name: str) -> dict[Any, float]:
    """Pairs of a vertex and a number as a mapping. A repeated vertex is an error."""
    vertex, times = Counter(vertex for vertex, _ in pairs).most_common(1)[0]
    if times > 1:
        raise OptionError(f"{name}= lists vertex {vertex!r} {times} times; give it one number")
    return dict(pairs)


def id_reader(kind: str) -> Callable[[str], Any]:
    """A function that turns text on the command line into an id, for a graph with ids of this kind (`IdType.kind`)."""

    def read(text: str) -> Any:
        import uuid

        try:
            return {"integer": int, "uuid": uuid.UUID}.get(kind, str)(text)
        except ValueError as cause:
            raise OptionError(f"{text!r} is not a vertex of this graph: its ids are of type {kind}") from cause

    return read
