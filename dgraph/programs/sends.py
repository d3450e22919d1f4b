"""Checks what an accumulative program may send, as far as its text shows. `law_trials.py` tests the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dgraph.programs.functions import Function
from dgraph.programs.monoid import PRODUCT, SUM
from dgraph.programs.program import Delta, State, VertexProgram
from dgraph.programs.syntax import sum_name

if TYPE_CHECKING:
    from dgraph.programs.analysis import Analysis

COUNTING_MERGES = (SUM, PRODUCT)  # the merges for which it matters how often a message arrives


def check_sends(program: VertexProgram, analysis: Analysis) -> None:
    """Reject a program that sends again what it has sent before, if that counts twice.

    A vertex sends whenever it fires and changes a field that `send` reads, and engines differ in how often a vertex
    fires. A message that is added up may therefore depend on a `Delta`, on values that no message changes, and on a
    bool that changes once. `law_trials.py` tests whether the bool changes only once, and also tests user-defined
    merges.
    """
    states, send, apply = analysis.states, analysis.phases[0].send, analysis.phases[0].apply
    changing = {
        state.name
        for i, state in enumerate(states)
        if not isinstance(state, Delta)
        and state.dtype.kind != "b"
        and returns_other_than(apply.function, i, state.name)
    }
    triggers = send.names_of("state") or tuple(state.name for state in states)
    for i, message in enumerate(program.phases[0].messages):
        if message.merge not in COUNTING_MERGES:
            continue
        depends = names_of_value(send.function, i) & set(triggers) if send.names_of("state") else set(triggers)
        if again := sorted(depends & changing):
            whole = f"the whole of {again[0]!r}" if send.names_of("state") else "the same message"
            send.function.refuse(
                f"a vertex would send {whole} each time it fires, and {message.merge} would count it again, so the "
                f"answer would depend on the engine{_example(program, analysis)}",
                None,
                f"Send only what a firing adds: declare new = Delta({state_type(states, again[0])}), return it from "
                '`apply`, and read it in `send`. Or set kind = "synchronous", and write `start` instead of `seed`.',
            )


def _example(program: VertexProgram, analysis: Analysis) -> str:
    """Messages of a small graph that show the problem, if there are any."""
    from dgraph.programs.law_trials import counter_example  # few programs need this and the reference

    broken = counter_example(program, analysis)
    return f": {broken}" if broken else ""


def state_type(states: Iterable[State], name: str) -> str:
    """The type of a State, as users write it."""
    kind = next(state.dtype for state in states if state.name == name).name
    return {"int64": "int", "float64": "float"}.get(kind, repr(kind))


def returns_other_than(function: Function, place: int, name: str) -> bool:
    """Whether a function may return anything but its parameter `name` as the value at this place."""
    if name not in function.parameters:
        return True
    own = function.tree.args.args[function.parameters.index(name)].arg
    nodes = list(ast.walk(function.tree))
    stored = any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == own for node in nodes)
    values = (value for node in nodes if isinstance(node, ast.Return) for value in values_at(node.value, place))
    return stored or any(not (isinstance(value, ast.Name) and value.id == own) for value in values)


def values_at(node: ast.expr | None, place: int) -> list[ast.expr]:
    """The expressions that may become the returned value at this place."""
    if isinstance(node, ast.IfExp):
        return values_at(node.body, place) + values_at(node.orelse, place)
    if isinstance(node, ast.Tuple):
        return values_at(node.elts[place], 0)
    return [] if node is None else [node]


def names_of_value(function: Function, place: int) -> set[str]:
    """The parameters on which the returned value at this place may depend: the parameters in the value, in what is
    assigned to its names, and in all conditions."""
    nodes = list(ast.walk(function.tree))
    returned = [value for node in nodes if isinstance(node, ast.Return) for value in values_at(node.value, place)]
    tests = [node.test for node in nodes if isinstance(node, ast.If | ast.While | ast.IfExp)]
    names = _names([*returned, *tests, *(node.iter for node in nodes if isinstance(node, ast.For))])
    assigned = [(_names(node.targets), _names([node.value])) for node in nodes if isinstance(node, ast.Assign)]
    before = None
    while names != before:
        before = set(names)
        names |= {name for targets, read in assigned if targets & names for name in read}
    summed = {name for i, one in enumerate(function.sums) for name in one.vectors if sum_name(i) in names}
    written = (argument.arg for argument in function.tree.args.args)
    return summed | {name for name, own in zip(function.parameters, written, strict=False) if own in names}


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {name.id for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)}
