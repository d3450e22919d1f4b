"""The decorator of operations: it checks their options, and has cuGraph answer where a user asks for that."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from dgraph.cugraph.operations import OPERATIONS
from dgraph.errors import OptionError
from dgraph.options import is_default, known_options
from dgraph.phrases import format_option
from dgraph.plan import CUGRAPH
from dgraph.runs.cugraph_handover import run_on_cugraph
from dgraph.runs.execution import run
from dgraph.runs.result import RunResult
from dgraph.runs.run_keywords import check_words

P = ParamSpec("P")


def operation(function: Callable[P, RunResult]) -> Callable[P, RunResult]:
    """Decorates an operation. It knows its own options and those of `run`; `engine="cugraph"` hands it over, if cuGraph
    has it."""
    signature = inspect.signature(function)

    @wraps(function)
    def chosen(*positional: P.args, **options: P.kwargs) -> RunResult:
        check_words(options)
        if options.get("engine") != CUGRAPH or function.__name__ not in OPERATIONS:
            return function(*positional, **options)
        asked = signature.bind(*positional, **options)
        asked.apply_defaults()
        graph = asked.arguments.pop("graph")
        wanted = _obeyed(function.__name__, signature, asked.arguments)
        return run_on_cugraph(graph, function.__name__, wanted)

    return known_options(run)(chosen)


def _obeyed(name: str, signature: inspect.Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that cuGraph obeys; all others, and options of `run`, are refused."""
    options, known = arguments.pop("options"), inspect.signature(OPERATIONS[name]).parameters
    refused = {one: value for one, value in options.items() if one not in ("engine", "device")}
    if options.get("device", "auto") not in ("auto", "cuda"):
        refused["device"] = options["device"]
    others = {one: value for one, value in arguments.items() if one not in known}
    refused |= {one: value for one, value in others.items() if not is_default(value, signature.parameters[one].default)}
    if refused:
        what = ", ".join(format_option(one, value) for one, value in refused.items())
        raise OptionError(f'{what} cannot be had with engine={CUGRAPH!r}: leave it out, or choose engine="auto"')
    return {one: value for one, value in arguments.items() if one in known}
