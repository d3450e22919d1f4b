"""The decorator of operations, which rejects unknown options and passes calls with `engine="cugraph"` to cuGraph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec

from dgraph.arguments import is_default, known_options, shown
from dgraph.cugraph.operations import OPERATIONS
from dgraph.errors import OptionError
from dgraph.options import HOW, Cuda
from dgraph.runs.cugraph_handover import run_on_cugraph
from dgraph.runs.old_keywords import old_keywords
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import CUGRAPH, RunOptions

P = ParamSpec("P")


def operation(function: Callable[P, RunResult]) -> Callable[P, RunResult]:
    """Decorate an operation, so that it rejects unknown options. With `engine="cugraph"`, cuGraph computes the
    result."""
    by_engine = {CUGRAPH: partial(_by_cugraph, function)} if function.__name__ in OPERATIONS else {}
    return known_options(by_engine=by_engine, old=old_keywords)(function)


def _by_cugraph(function: Callable[..., RunResult], *positional: Any, **options: Any) -> RunResult:
    """Call cuGraph with the arguments that it supports; others raise an error."""
    signature = inspect.signature(function)
    bound = signature.bind(*positional, **options)
    bound.apply_defaults()
    arguments, known = bound.arguments, inspect.signature(OPERATIONS[function.__name__]).parameters
    graph, how = arguments.pop("graph"), {name: arguments.pop(name) for name in HOW if name in arguments}
    RunOptions(**how)  # rejects options that exclude cuGraph
    others = {one: value for one, value in arguments.items() if one not in known}
    if "progress" in how:  # an operation that runs no program lacks this option
        others["progress"] = how["progress"]
    if isinstance(how["device"], Cuda) and how["device"] != Cuda():
        others["device"] = how["device"]
    refused = {one: value for one, value in others.items() if not is_default(value, signature.parameters[one].default)}
    if refused:
        what = ", ".join(shown(one, value) for one, value in refused.items())
        raise OptionError(f'{what} is not available with engine={CUGRAPH!r}; leave it out, or choose engine="auto"')
    return run_on_cugraph(graph, function.__name__, {one: value for one, value in arguments.items() if one in known})
