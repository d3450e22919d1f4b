"""The decorator of operations, which refuses unknown options and passes `engine="cugraph"` to cuGraph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec

from dgraph.arguments import is_default, known_options
from dgraph.cugraph.operations import OPERATIONS
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_option
from dgraph.plan import CUGRAPH
from dgraph.runs.cugraph_handover import run_on_cugraph
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult

P = ParamSpec("P")


def operation(function: Callable[P, RunResult]) -> Callable[P, RunResult]:
    """Decorates an operation that takes its own options and those of `run`. With `engine="cugraph"`, cuGraph computes
    the result."""
    by_engine = {CUGRAPH: partial(_by_cugraph, function)} if function.__name__ in OPERATIONS else {}
    return known_options(run, by_engine=by_engine, without=("check_laws",))(function)


def _by_cugraph(function: Callable[..., RunResult], *positional: Any, **options: Any) -> RunResult:
    """Call cuGraph with the arguments that it supports; others, and options of `run`, raise an error."""
    signature = inspect.signature(function)
    bound = signature.bind(*positional, **options)
    bound.apply_defaults()
    arguments, known = bound.arguments, inspect.signature(OPERATIONS[function.__name__]).parameters
    graph, more = arguments.pop("graph"), arguments.pop("options")
    refused = {one: value for one, value in more.items() if one not in ("engine", "device")}
    if more.get("device", "auto") not in ("auto", "cuda"):
        refused["device"] = more["device"]
    others = {one: value for one, value in arguments.items() if one not in known}
    refused |= {one: value for one, value in others.items() if not is_default(value, signature.parameters[one].default)}
    if refused:
        what = ", ".join(format_option(one, value) for one, value in refused.items())
        raise OptionError(f'{what} is not available with engine={CUGRAPH!r}; leave it out, or choose engine="auto"')
    return run_on_cugraph(graph, function.__name__, {one: value for one, value in arguments.items() if one in known})
