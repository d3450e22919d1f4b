"""Determines what a function of a program reads, from the names of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgraph.programs.functions import Function
from dgraph.programs.program import EdgeColumn, Field, Global, Parameter, Phase, State, VertexColumn, VertexProgram

VERTEX_KINDS = frozenset({"state", "vertex", "column", "global"})
EDGE_KINDS = frozenset({"edge", "target", "ahead", "draw"})  # columns; its target's states, and constants; `random`
_VERTEX_VALUES = ("id", "degree", "random", "vertex_random", "component")
_RUN_VALUES = ("round", "vertices")


@dataclass(frozen=True)
class Reads:
    """A function, and where each of its parameters comes from."""

    function: Function
    kinds: dict[str, str]  # state, before, message, edge, target, ahead, draw, column, parameter, global, vertex or run
    vector: bool  # whether the function reads or returns a vector, and so runs once per component
    component: int | None = None  # which component of a vector of global values it folds

    def names_of(self, *kinds: str) -> tuple[str, ...]:
        """The parameters that come from one of `kinds`."""
        return tuple(name for name, kind in self.kinds.items() if kind in kinds)

    def __contains__(self, name: str) -> bool:
        """Whether the function reads a built-in name, such as `id` or `round`, and not a field with this name."""
        return self.kinds.get(name) in ("vertex", "run", "ahead", "draw")

    @property
    def depends_on_round(self) -> bool:
        """Whether the function reads the number of the round or a random draw, which differ from round to round."""
        return any(name in self for name in ("round", "random", "vertex_random"))


def reads_of(program: VertexProgram, function: Function, phase: Any, admitted: frozenset, vector: bool) -> Reads:
    """What a function reads. Kinds that are not `admitted` are errors. `vector` says whether it returns a vector."""
    kinds, vectors, phase = {}, set(), phase if "message" in admitted else None
    for name in function.parameters:
        kind, field = _kind(program, name, phase)
        if name == "random" and kind == "vertex" and "draw" in admitted:
            kind = "draw"  # in `send`, a random number is drawn for each edge
        if kind not in admitted | {"parameter", "run"}:
            known = kind or name in ("message", *program.fields)
            problem = "cannot be read here" if known else "is neither declared nor built in"
            remedy = f"Available: {', '.join(_readable(program, phase, admitted))}."
            remedy = "Functions of a program take no self." if name == "self" else remedy
            function.refuse(f"the parameter {name!r} {problem}", None, remedy)
        kinds[name] = kind
        vectors |= {name} if field is not None and field.shape is not None else set()
    for pair in function.dots:
        if not set(pair) <= vectors:
            function.refuse(f"dot({', '.join(pair)}) needs two vectors", None, "Declare them with a shape.")
    vector |= bool(vectors) or (program.vector_length > 0 and kinds.get("component") == "vertex")
    return Reads(function, kinds, vector)


def _kind(program: VertexProgram, name: str, phase: type[Phase] | None) -> tuple[str, Field | None]:
    """Where a parameter comes from, and its field. Declared fields take precedence over built-in names."""
    if phase and (messages := [message for message in phase.messages if message.name == name]):
        return "message", messages[0]
    field = program.fields.get(name)
    for kind, field_class in (("state", State), ("parameter", Parameter), ("global", Global), ("column", VertexColumn)):
        if isinstance(field, field_class):
            return kind, field
    if isinstance(field, EdgeColumn) or name == "weight":
        return "edge", field
    if name in _VERTEX_VALUES:
        return "vertex", None
    if name in _RUN_VALUES:
        return "run", None
    if name.endswith("_before"):
        state = program.fields.get(name.removesuffix("_before"))
        return ("before" if isinstance(state, State) else ""), state
    if name.startswith("target_"):
        target = name.removeprefix("target_")
        field = program.fields.get(target)
        fixed = isinstance(field, VertexColumn) or target in ("id", "degree")
        return ("target" if isinstance(field, State) else "ahead" if fixed else ""), field
    return "", None


def _readable(program: VertexProgram, phase: type[Phase] | None, admitted: frozenset) -> list[str]:
    names = [*program.fields, "weight", *_VERTEX_VALUES, *_RUN_VALUES]
    names += [message.name for message in phase.messages] if phase else []
    states = [state.name for state in program.of(State)]
    names += [f"{state}_before" for state in states] + [f"target_{name}" for name in ("id", "degree", *program.fields)]
    return [n for n in dict.fromkeys(names) if _kind(program, n, phase)[0] in admitted | {"parameter", "run"}]
