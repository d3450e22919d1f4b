"""Runs that are struck: those of `works`, on larger graphs and with every engine, and every operation of
`answer_trials`, on small graphs. Each knows its answer from a sound run or by other means, and compares it in full."""

import itertools
import random
from functools import cached_property, lru_cache
from pathlib import Path

import pandas as pd
from answer_trials import CHECKS, Case, Refused, Trial, engine_for, graph_of, problem_of, way_for
from distributed import CancelledError
from works import OF_FRAMES, WORKS, check, found, frame_of

OPERATIONS = {f"dg.{name}": name for name in CHECKS}
RUNS = (*WORKS, *OPERATIONS)
TIMES = 10  # that a lazy frame is taken again


@lru_cache(1)
def _frame(number: int) -> pd.DataFrame:
    return frame_of(number)


@lru_cache(len(WORKS))
def _expected(name: str, number: int) -> pd.DataFrame:
    return found(name, _frame(number))


class StruckRun:
    """One of RUNS: on the frame of a number, or on a graph that a seed draws."""

    def __init__(self, name: str, seed: int, frame: int, parts: int):
        self.name, self.seed, self.frame, self.parts = name, seed, frame, parts

    @property
    def leaves_tasks(self) -> bool:
        """Dask remembers some of the lazy frames that it has computed."""
        return self.name in OF_FRAMES or self.name in OPERATIONS

    @cached_property
    def expected(self) -> pd.DataFrame:
        return _expected(self.name, self.frame)

    @cached_property
    def case(self) -> Case:
        """One that is right without strikes."""
        operation = OPERATIONS[self.name]
        for number in itertools.count(self.seed * 1000):
            graph, rng = graph_of(number), random.Random(-number - 1)
            way, options = way_for(graph, rng), CHECKS[operation].draw(graph, rng)
            if options is None or (way.parts == 1 and rng.random() < 0.8):
                continue
            options |= engine_for(operation, way, rng) if "engine" not in options else {}
            case = Case(graph, way, operation, options)
            problem = problem_of(case)
            if problem is None:
                return case
            if not isinstance(problem, Refused):
                raise AssertionError(f"without any strike: {case}") from problem
        raise AssertionError("count() has no end")

    def prepare(self) -> None:
        """Find the answer."""
        _ = self.case if self.name in OPERATIONS else self.expected

    def answer(self, client, room: Path | None) -> None:
        """Run it on a cluster. Raise an AssertionError if the answer is wrong."""
        if self.name not in OPERATIONS:
            check(found(self.name, _frame(self.frame), client, self.parts, room), self.expected)
            return
        for _ in range(TIMES):
            with Trial(self.case.graph, client) as trial:
                problem = trial.problem(self.case)
            if not isinstance(problem, CancelledError):
                break
        if problem is not None:
            raise problem
