"""Try the laws of programs that users write, once per text: a program that has passed is noted beside its kernels."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dgraph.codegen.recipe import recipe_of
from dgraph.errors import OptionError
from dgraph.native.machine_code import cache_folder
from dgraph.programs.analysis import analyse
from dgraph.programs.program import State, VertexProgram

EDITION = 8  # changes with what is tried, so that what has passed is tried again
_passed: set[str] = set()


def try_once(program: VertexProgram, one_by_one: bool) -> None:
    """Raise a ProgramError if a user's program breaks a law. A synchronous program has one only where vertices are
    brought up to date `one_by_one`. The tests of dgraph try the programs of its operations."""
    if program.operation or (program.kind == "synchronous" and not one_by_one):
        return
    source = recipe_of(program).source
    starts = [(state.name, state.start) for state in program.of(State)]
    key = hashlib.sha256(f"{EDITION}{source.digest}{starts}".encode()).hexdigest()[:20]
    if key in _passed:
        return
    note = _note(f"{source.name.lower()}_{key}.laws")
    if note is None or not note.exists():
        _try(program)
    _passed.add(key)
    if note is not None:
        try:
            note.touch(mode=0o600)
        except OSError:  # the disk is full or read-only: other processes try again
            return


def _try(program: VertexProgram) -> None:
    # Several milliseconds to load, which most runs do not need
    from dgraph.programs.fixed_point import try_fixed_point
    from dgraph.programs.law_trials import try_laws

    if program.kind == "accumulative":
        try_laws(program, analyse(program))
    else:
        try_fixed_point(program)


def _note(name: str) -> Path | None:
    """The file that says that a program has passed, if there is a folder for it."""
    try:
        return cache_folder() / name
    except (OSError, OptionError):
        return None
