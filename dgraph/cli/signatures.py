"""Options of a command from the signature of the function that it calls: a new parameter is a new option."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import click

from dgraph.cli.options import offered
from dgraph.errors import OptionError

OF = "of_"  # begins what click calls a parameter of the function, which may have the name of another option
PLAIN = {int: int, float: float, str: str}


class Number(click.ParamType):
    """A number, whole where it is written so: weights between 1 and 9 are whole, between 1.0 and 9 are not."""

    name = "number"

    def convert(self, value: Any, param: Any, context: Any) -> float:
        for kind in (int, float):
            try:
                return kind(value) if isinstance(value, str) else value
            except ValueError:
                pass
        return self.fail(f"{value!r} is no number", param, context)


class VertexValue(click.ParamType):
    """A vertex and a number, as VERTEX=NUMBER."""

    name = "vertex=number"

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, float]:
        vertex, sign, number = str(value).rpartition("=")
        try:
            return (vertex, float(number)) if sign else self.fail(f"{value!r} is not VERTEX=NUMBER", param, context)
        except ValueError:
            return self.fail(f"{number!r} is no number", param, context)


def described(function: Callable) -> tuple[str, dict[str, str]]:
    """What a function's docstring says of the whole, and of each parameter: that is a line `name: text`, with indented
    lines to follow. What it says of options as in `dgraph.run` is left out: a command has those under names of its
    own."""
    names = inspect.signature(function).parameters
    whole, parts, current = [], {}, ""
    for line in inspect.cleandoc(function.__doc__ or "").splitlines():
        name, colon, text = line.partition(":")
        if colon and name in names:
            current, parts[name] = name, text.strip()
        elif current and line.startswith(" "):
            parts[current] += " " + line.strip()
        else:
            current = ""
            whole.append(line)
    rest = re.sub(r"(Other o|O)ptions\sare\sthose\sof\s`(dgraph\.run|Graph\.from_edges)`\.", "", "\n".join(whole))
    return rest.strip(), {name: text[:1].upper() + text[1:] for name, text in parts.items()}


def options_of(
    function: Callable, renamed: Mapping[str, str] | None = None, said: Mapping[str, str] | None = None
) -> list[click.Option]:
    """An option for each parameter of a function but `graph` and **options. A parameter of any type becomes a vertex,
    and may be given several times; a switch that is on by default becomes an option that turns it off. The help is what
    the docstring says of the parameter, unless `said` has other words; the shell offers the words that it quotes.
    `renamed` has the names of options that are not those of their parameters."""
    hints, found, renamed = get_type_hints(function), [], renamed or {}
    texts = {**described(function)[1], **(said or {})}
    kinds = {one.name: _kind(hints.get(one.name, Any)) for one in _parameters(function)}
    flags = {name: _flag(renamed.get(name, name)) for name, how in kinds.items() if how is not None}
    for parameter in _parameters(function):
        how = kinds[parameter.name]
        if how is None:
            continue
        names = [flags[parameter.name], OF + parameter.name]
        how["help"] = re.sub(r"`(\w+)`", lambda it: flags.get(it[1], it[0]), texts[parameter.name]).replace(
            " or None", ""
        )
        if how.get("is_flag"):
            if parameter.default:
                names[0] = _flag(renamed.get(parameter.name, f"no_{parameter.name}"))
                how["callback"] = _negated
        elif parameter.default is parameter.empty:  # and no default: for click, None would be one
            how["required"] = True
        elif not how.get("multiple"):
            how |= {"default": parameter.default, "show_default": parameter.default is not None}
        if how.get("type") is str:
            how["shell_complete"] = offered(re.findall(r'"(\w+)"', how["help"]))
        found.append(click.Option(names, **how))
    return found


def _parameters(function: Callable) -> list[inspect.Parameter]:
    """The parameters of which options are made."""
    every = inspect.signature(function).parameters.values()
    return [one for one in every if one.kind is not one.VAR_KEYWORD and one.name != "graph"]


def _flag(name: str) -> str:
    """The option as it is typed."""
    return "--" + name.replace("_", "-")


def _negated(context: click.Context, param: click.Parameter, value: bool) -> bool:
    return not value


def _kind(hint: Any) -> dict[str, Any] | None:
    """What click must know of an option for a parameter with this type hint; None where a command line cannot say such
    a value."""
    kinds = [one for one in get_args(hint) if one is not NoneType] if _is_union(hint) else [hint]
    for kind in kinds:
        if kind is bool:
            return {"is_flag": True}
        if kind in PLAIN:
            return {"type": PLAIN[kind]}
        if kind is Any:
            return {"multiple": True, "metavar": "VERTEX"}
        if get_origin(kind) is tuple and set(get_args(kind)) <= {int, float}:
            return {"nargs": len(get_args(kind)), "type": Number()}
        if isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping):
            return {"multiple": True, "type": VertexValue()}
    return None


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def values_of(function: Callable, given: Mapping[str, Any], id_of: Callable[[str], Any] = str) -> dict[str, Any]:
    """Arguments for a function from the values of the options that `options_of` made: vertices become ids by `id_of`,
    and what was not given is left out."""
    hints, found = get_type_hints(function), {}
    for name in inspect.signature(function).parameters:
        value = given.get(OF + name)
        if value is None or value == ():
            continue
        how = _kind(hints.get(name, Any)) or {}
        if isinstance(how.get("type"), VertexValue):
            value = _each_once([(id_of(vertex), number) for vertex, number in value], name)
        elif how.get("multiple"):
            value = [id_of(vertex) for vertex in value]
            value = value[0] if len(value) == 1 else value
        found[name] = value
    return found


def _each_once(pairs: list[tuple[Any, float]], name: str) -> dict[Any, float]:
    """Pairs of a vertex and a number as a mapping; a vertex that comes twice is refused."""
    vertex, times = Counter(vertex for vertex, _ in pairs).most_common(1)[0]
    if times > 1:
        raise OptionError(f"{name}= names vertex {vertex!r} {times} times: give it one number")
    return dict(pairs)


def id_reader(kind: str) -> Callable[[str], Any]:
    """A function from a text on the command line to an id, for a graph whose ids are of this kind (`IdType.kind`)."""

    def read(text: str) -> Any:
        import uuid

        try:
            return {"integer": int, "uuid": uuid.UUID}.get(kind, str)(text)
        except ValueError as cause:
            raise OptionError(f"{text!r} is not a vertex of this graph, whose ids are of kind {kind}") from cause

    return read
