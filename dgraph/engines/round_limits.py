"""Limits on the rounds of a program that sets no bound itself, and so may never end."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NoReturn

from dgraph.errors import RunError
from dgraph.programs.analysis import Analysis, Reads
from dgraph.programs.sends import values_at

FREELY = 1000  # rounds beyond the number of vertices, along whose longest path a message takes one round per vertex
LONG = 600.0  # seconds after which even fewer rounds are suspect
FOLD = 10  # a run ends with an error after this multiple of the rounds that are suspect


@dataclass(frozen=True)
class Patience:
    """The numbers of rounds after which a run is suspect, and after which it ends with an error.

    A suspect run might still end: a program may count down from a million on three vertices. But if the program only
    passes on the best message so far (`passes_best`), one edge farther per round, then every vertex has heard of every
    other after as many rounds as there are vertices. A message that still improves after that has gone around a cycle,
    where it is likely to improve forever.
    """

    title: str  # the title of the program
    vertices: int
    counts_rounds: bool  # whether the engine takes max_rounds=
    passes_best: bool = False

    @property
    def suspect(self) -> int:
        return self.vertices + FREELY

    def doubts(self, rounds: int, seconds: float) -> bool:
        """Whether a run that has taken this many rounds and seconds is suspect."""
        return rounds > self.suspect or (rounds > FREELY and seconds > LONG)

    def check(self, rounds: int, idle: bool = False) -> None:
        """Raise an error if a run has taken far more rounds than there are vertices. If it only passes on the best
        message and the last round was not `idle`, two more rounds than vertices are enough."""
        if rounds > (self.vertices + 1 if self.passes_best and not idle else FOLD * self.suspect):
            self._give_up(rounds)

    def _give_up(self, rounds: int) -> NoReturn:
        raise RunError(f"{self.doubt(rounds)}. {self.remedy}")

    def doubt(self, rounds: int) -> str:
        """Why a run is suspect."""
        return f"{self.title} has not ended after {rounds:,} rounds on {self.vertices:,} vertices, and may never do so"

    @property
    def remedy(self) -> str:
        """What to do about a run that does not end."""
        option = "Pass max_rounds=" if self.counts_rounds else 'Pass engine="gas" and max_rounds='
        return f"{option} to stop after that many rounds, or to allow more, or write `stop`"


def passes_best(analysis: Analysis) -> bool:
    """Whether a program only passes on the best message so far. Such a program has one number for each vertex, and what
    it sends depends on nothing that changes by itself."""
    simple = len(analysis.phases) == len(analysis.states) == 1 and not analysis.width and not analysis.globals
    return simple and not analysis.synchronous and analysis.phases[0].idempotent and not analysis.phases[0].sends_later


def has_bound(stop: Reads | None) -> bool:
    """Whether `stop` may end a run because of its round alone, judging by its text. For example,
    `moved < 0.1 and round > 2` cannot."""
    if stop is None or "round" not in stop:
        return False
    tree, place = stop.function.tree, stop.function.parameters.index("round")
    nodes, name = list(ast.walk(tree)), tree.args.args[place].arg
    if any(isinstance(node, ast.Assign) for node in nodes):
        return True  # any name may hold the round
    returned = (value for node in nodes if isinstance(node, ast.Return) for value in values_at(node.value, 0))
    return any(_is_true_in_time(value, name) for value in returned)


def _is_true_in_time(value: ast.expr, name: str) -> bool:
    """Whether a condition may become true because of the round alone. `name` is the variable that holds the round."""
    if isinstance(value, ast.Constant):
        return bool(value.value)  # some round may return it
    if isinstance(value, ast.BoolOp):
        whether = any if isinstance(value.op, ast.Or) else all
        return whether(_is_true_in_time(one, name) for one in value.values)
    reads = any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
    return reads and not _is_before_the_first(value, name)


def _is_before_the_first(value: ast.expr, name: str) -> bool:
    """Whether a condition, such as `round == 0`, is true only before round 1, the first round."""
    match value:
        case ast.Compare(left=ast.Name(id=left), ops=[op], comparators=[ast.Constant(value=int(last))]) if left == name:
            return last < (2 if isinstance(op, ast.Lt) else 1) and isinstance(op, ast.Eq | ast.LtE | ast.Lt)
    return False
