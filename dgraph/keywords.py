"""The keywords that operations share: what each takes, and how its short forms become values of `options.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from dgraph.arguments import AUTO, VALUES, check_choice, is_default, shown
from dgraph.errors import OptionError
from dgraph.options import (
    IN_PROCESS,
    KINDS,
    OWN_PROCESS,
    BlockDescent,
    Bsp,
    BulkAsync,
    Checkpoint,
    Cuda,
    DaemonKind,
    Daemons,
    Gas,
)

EngineLike = (
    Literal["auto", "local", "gas", "bsp", "bulk_async", "block_descent", "cugraph"]
    | Gas
    | Bsp
    | BulkAsync
    | BlockDescent
)
DeviceLike = Literal["auto", "cpu", "cuda"] | Cuda
Kinds = str | DaemonKind | Sequence[str | DaemonKind]
DaemonsLike = Kinds | Mapping[int, Kinds] | Daemons | None
CheckpointLike = str | os.PathLike[str] | Checkpoint | None
ProgressLike = bool | Callable[[dict[str, Any]], Any] | None

ENGINE_VALUES: dict[str, type] = {"gas": Gas, "bsp": Bsp, "bulk_async": BulkAsync, "block_descent": BlockDescent}
HOW = ("engine", "device", "daemons", "checkpoint", "progress")  # the keywords that operations share
NAMES_OF_ENGINES = (AUTO, "local", *ENGINE_VALUES, "cugraph")
NAMES_OF_DEVICES = (AUTO, "cpu", "cuda")


def engine_value(given: Any) -> Any:
    """The option `engine=`: a value, or the name of an engine that has no options."""
    if isinstance(given, str):
        check_choice("engine", given, NAMES_OF_ENGINES)
        return ENGINE_VALUES[given]() if given in ENGINE_VALUES else str(given)
    if isinstance(given, tuple(ENGINE_VALUES.values())):
        return given
    raise _not_a_value("engine", given, ENGINE_VALUES, f"{', '.join(NAMES_OF_ENGINES)}, or a value such as dg.Gas()")


def device_value(given: Any) -> Any:
    """The option `device=`: "auto", "cpu" or a value."""
    if isinstance(given, str):
        check_choice("device", given, NAMES_OF_DEVICES)
        return Cuda() if given == "cuda" else str(given)
    if isinstance(given, Cuda):
        return given
    named = f"{', '.join(NAMES_OF_DEVICES)}, or a value such as dg.Cuda()"
    if isinstance(given, Mapping | list | tuple):
        named += "; what each worker uses is daemons=dg.Daemons({0: ..., 1: ...})"
    raise _not_a_value("device", given, {"cuda": Cuda}, named)


def daemons_value(given: Any) -> Daemons | None:
    """The option `daemons=` as a value."""
    if given is None or isinstance(given, Daemons):
        return given
    if is_default(given, AUTO) or is_default(given, IN_PROCESS):
        raise OptionError(
            f"daemons={given!r} meant no daemons before 0.10: leave it out for none, or pass "
            'dg.Daemons("in process") for the CPU as a daemon'
        )
    if given is Daemons or isinstance(given, tuple(VALUES)):
        raise _not_a_value("daemons", given, {OWN_PROCESS: Daemons}, f"{', '.join(KINDS)}, or a value dg.Daemons(...)")
    return Daemons(given)


def _not_a_value(name: str, given: Any, named: Mapping[str, type], choices: str) -> OptionError:
    """The error for an option that is neither a name nor a value."""
    for word, made in named.items():
        if given is made:
            call = "dg.Daemons(...)" if made is Daemons else f"dg.{made.__name__}()"
            return OptionError(f"{name}=dg.{made.__name__} is a class; write {call} or {word!r}")
    return OptionError(f"{shown(name, given)} is not known; choose one of {choices}")
