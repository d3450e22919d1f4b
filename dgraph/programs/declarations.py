"""Checks the declarations of a program: each phase has its functions, its messages can merge, and all declarations fit
the kind of program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import FunctionType
from typing import TYPE_CHECKING, Any

from dgraph.errors import ProgramError
from dgraph.programs.kernel_names import FUNCTIONS, HasName
from dgraph.programs.monoid import MONOIDS, NEIGHBOURHOODS, Merge, Monoid, Neighbourhood

if TYPE_CHECKING:
    from dgraph.programs.program import Phase, State, VertexProgram

OPTIONS = {"kind": ("accumulative", "synchronous"), "along": ("out", "in", "both"), "merge": ()}
MIN_SIMILARITY = 0.7  # similarity above which a name counts as misspelled: "sotp" is "stop"


def functions_of(phase: type[Phase], title: str, states: Sequence[State]) -> dict[str, Callable]:
    """The functions `send` and `apply` of a phase."""
    held, sent = (", ".join(one.name for one in some) for some in (states, phase.messages))
    remedy = {
        "send": f"def send({held}): which returns {sent}, the message along an edge",
        "apply": f"def apply({held}, {sent}): which returns {held}, the new state of the vertex",
    }
    if missing := [name for name in remedy if name not in vars(phase)]:
        remedies = "; ".join(remedy[name] for name in missing)
        raise ProgramError(f"{title} has no function {' and no '.join(missing)}. Write {remedies}")
    return {name: vars(phase)[name] for name in remedy}


def check_phase(program: type[VertexProgram], phase: type[Phase], title: str) -> None:
    """Reject messages that cannot merge, and declarations that do not fit the kind of program."""
    merges = [message.merge for message in phase.messages]
    whole = next((one for one in merges if isinstance(one, Neighbourhood)), None)
    if whole is not None and merges != [whole] * whole.fields:
        fields = "two fields, a value and its weight" if whole.fields > 1 else "one field"
        raise ProgramError(f"{title}: {whole} merges whole neighbourhoods, and its messages must have {fields}")
    for message in phase.messages:
        if program.fields.get(message.name, message) is not message:
            raise ProgramError(f"{title}: {message.name!r} is both a message and a field; rename one of them")
        if not message.merge.combines and (message.dtype.kind != "i" or message.shape is not None):
            raise ProgramError(f"{title}: {message.merge} merges integers, not vectors or {message.dtype.name}")
    if phase.along not in OPTIONS["along"]:
        raise ProgramError(f'{title}: along = {phase.along!r} must be "out", "in" or "both"')
    if program.kind not in OPTIONS["kind"]:
        raise ProgramError(f'{title}: kind = {program.kind!r} must be "accumulative" or "synchronous"')
    if program.kind == "accumulative":
        if "seed" not in program.functions:
            raise ProgramError(f"{title} is accumulative but has no `seed`, the first message to each vertex")
        if phase.name:
            raise ProgramError(f'{title}: a program with several phases must have kind = "synchronous"')
        if not all(message.merge.combines for message in phase.messages):
            merge = phase.messages[0].merge
            raise ProgramError(f'{title}: {merge} merges whole neighbourhoods, which needs kind = "synchronous"')
    elif "seed" in program.functions:
        raise ProgramError(f"{title} is synchronous, so every vertex fires in every round; write `start`, not `seed`")


def check_names(owner: str, base: type, fields: Mapping[str, HasName], columns: Iterable[str] = ()) -> None:
    """Reject names that the class `base` (of programs or phases) uses itself, a second name for a field, and a result
    column named `vertex`, which is already the first column."""
    if "vertex" in columns:
        raise ProgramError(f"{owner}: the column 'vertex' of the result holds vertex ids; choose another name")
    for name, field in fields.items():
        if name in FUNCTIONS or hasattr(base, name):
            what = "a function" if name in FUNCTIONS else "an attribute"
            raise ProgramError(f"{owner}: {name!r} is {what} of every {base.__name__}; choose another name")
        if field.name != name:
            raise ProgramError(f"{owner}: {name!r} is already declared as {field.name!r}; create a new field for it")


def check_spelling(owner: str, members: Mapping[str, Any]) -> None:
    """Reject names that nearly match a function or an option of programs, because nothing would ever read them."""
    for name, value in members.items():
        if name.startswith("_") or name in FUNCTIONS or name in OPTIONS:
            continue
        if isinstance(value, FunctionType):
            near = next(iter(get_close_matches(name, FUNCTIONS, 1, MIN_SIMILARITY)), "")
        elif isinstance(value, Monoid | Neighbourhood):
            near = "merge"
        else:
            near = next((option for option, words in OPTIONS.items() if isinstance(value, str) and value in words), "")
        if near:
            raise ProgramError(
                f"{owner}: a program does not use {name!r}; did you mean {near!r}? If not, choose another name"
            )


def check_merges(program: str, phases: Iterable[HasName], merges: Iterable[Merge]) -> None:
    """Reject phases or merges that would have the same name in kernels, and names that are not identifiers."""
    names = [phase.name for phase in phases]
    for name in names:
        if names.count(name) > 1:
            raise ProgramError(f"{program}: two phases are named {name!r}, ignoring case and underscores; rename one")
    known = {merge.name.lower(): merge for merge in (*MONOIDS, *NEIGHBOURHOODS)}
    for merge in merges:
        if not merge.name.isidentifier():
            raise ProgramError(f"{program}: the name of a merge must be an identifier, got {merge.name!r}")
        if known.setdefault(merge.name.lower(), merge) != merge:
            raise ProgramError(f"{program}: two merges are named {merge.name!r}, ignoring case; rename one of them")
