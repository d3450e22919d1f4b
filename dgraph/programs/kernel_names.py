"""What kernels call a program's fields and messages: names that begin like nothing else in a kernel. So a field may
have any name except those that `VertexProgram` itself uses.

    field_dist      what is declared in the class: states, columns, parameters, global values
    before_rank     a state before the round
    inbox_message   what has come; `sent_message` is what vertices send, `best_message` the best of a round
    send, apply     functions; of a phase `send_propose`, and `inbox_propose_message`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from dgraph.errors import ProgramError
from dgraph.programs.monoid import MONOIDS, NEIGHBOURHOODS, Merge

FIELD = "field_"
FUNCTIONS = ("start", "seed", "send", "apply", "stop")


class Named(Protocol):
    """A field or a phase. The phase of a program that declares none has an empty name."""

    @property
    def name(self) -> str: ...


def key(name: str) -> str:
    """The name of a declared field in kernels, where it is an array or a number."""
    return FIELD + name


def before(name: str) -> str:
    """The name of the copy of a state from before the round."""
    return f"before_{name}"


def by_name(values: Mapping[str, Any]) -> dict[str, Any]:
    """Of what kernels are given, the fields, by the names that the program has for them."""
    return {name.removeprefix(FIELD): value for name, value in values.items() if name.startswith(FIELD)}


def name_in(phase: Named, name: str) -> str:
    """The name of a phase's function or kernel: as it is, or with the phase's name after it."""
    return f"{name}_{phase.name}" if phase.name else name


def inbox(phase: Named, message: Named) -> str:
    """The name of the array of merged messages."""
    return f"{name_in(phase, 'inbox')}_{message.name}"


def sent(phase: Named, message: Named) -> str:
    """The name of the array of messages that vertices send, where these are the same along all their edges."""
    return f"{name_in(phase, 'sent')}_{message.name}"


def incoming(array: str) -> str:
    """The name of what has come from another partition for an inbox."""
    return f"incoming_{array}"


def merging(merge: Merge) -> str:
    """The name of a merge's function."""
    return f"merge_{merge.name.lower()}"


def check_names(owner: str, base: type, fields: Mapping[str, Named], columns: Iterable[str] = ()) -> None:
    """Refuse names that `base` (the class of programs, or of phases) uses for something else, a field under a second
    name, and `columns` of the answer that would replace its first one, `vertex`. Names that Python itself forbids never
    come here."""
    if "vertex" in columns:
        raise ProgramError(f"{owner}: the column 'vertex' of the answer says which vertex it is; choose another name")
    for name, field in fields.items():
        if name in FUNCTIONS or hasattr(base, name):
            what = "a function" if name in FUNCTIONS else "an attribute"
            raise ProgramError(f"{owner}: {name!r} is {what} of every {base.__name__}; choose another name")
        if field.name != name:
            raise ProgramError(f"{owner}: {name!r} is declared already, as {field.name!r}; give it a field of its own")


def check_merges(program: str, phases: Iterable[Named], merges: Iterable[Merge]) -> None:
    """Refuse phases or merges of which two would have the same name in kernels, and a name that kernels cannot have."""
    names = [phase.name for phase in phases]
    for name in names:
        if names.count(name) > 1:
            raise ProgramError(f"{program}: two phases are {name!r}, but for capitals and underscores; rename one")
    known = {merge.name.lower(): merge for merge in (*MONOIDS, *NEIGHBOURHOODS)}
    for merge in merges:
        if not merge.name.isidentifier():
            raise ProgramError(f"{program}: {merge.name!r} is no name for a merge; give it one word")
        if known.setdefault(merge.name.lower(), merge) != merge:
            raise ProgramError(f"{program}: two merges are called {merge.name!r}; give one of them another name")
