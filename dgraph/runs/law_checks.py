"""Tests the laws of users' programs, once per program text. A note next to its kernels records that it passed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from dgraph.codegen.recipe import recipe_of
from dgraph.errors import OptionError
from dgraph.native.machine_code import cache_folder
from dgraph.programs.analysis import analyse
from dgraph.programs.monoid import MONOIDS, Monoid
from dgraph.programs.program import Global, Message, State, VertexProgram

EDITION = 11  # changes with the tests, so that programs that have passed are tested again
_passed: set[str] = set()


def try_once(program: VertexProgram, one_by_one: bool) -> None:
    """Raise a ProgramError if a user's program breaks a law. A synchronous program must obey the laws of its merges,
    and more if vertices are updated `one_by_one`. The programs of operations are covered by dgraph's own tests."""
    if program.operation:
        return
    if _own_merges(program):
        _pass_once(program, "merges", _try_merges)
    if program.kind == "accumulative" or one_by_one:
        _pass_once(program, "laws", _try)


def _pass_once(program: VertexProgram, what: str, trial: Callable[[VertexProgram], None]) -> None:
    source = recipe_of(program).source
    starts = [(state.name, state.start) for state in program.of(State)]
    merges = [(field.name, field.identity, field.merge.idempotent) for field in _own_merges(program)]
    key = hashlib.sha256(f"{EDITION}{source.digest}{starts}{merges}".encode()).hexdigest()[:20]
    if f"{key}.{what}" in _passed:
        return
    note = _note(f"{source.name.lower()}_{key}.{what}")
    if note is None or not note.exists():
        trial(program)
    _passed.add(f"{key}.{what}")
    if note is not None:
        try:
            note.touch(mode=0o600)
        except OSError:  # the disk is full or read-only, so other processes test again
            return


def _own_merges(program: VertexProgram) -> list[Message | Global]:
    """The fields that are merged by a user-defined function."""
    fields: list[Message | Global] = [message for phase in program.phases for message in phase.messages]
    fields += program.of(Global)
    return [field for field in fields if isinstance(field.merge, Monoid) and field.merge not in MONOIDS]


def _try_merges(program: VertexProgram) -> None:
    from dgraph.programs.laws import try_merges  # imported here because few runs need it, as below

    try_merges(program, _own_merges(program))


def _try(program: VertexProgram) -> None:
    # These take several milliseconds to import, and most runs do not need them.
    from dgraph.programs.fixed_point import try_fixed_point
    from dgraph.programs.law_trials import try_laws

    if program.kind == "accumulative":
        try_laws(program, analyse(program))
    else:
        try_fixed_point(program)


def _note(name: str) -> Path | None:
    """The file that records that a program has passed, if there is a folder for it."""
    try:
        return cache_folder() / name
    except (OSError, OptionError):
        return None
