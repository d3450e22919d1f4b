"""Tests whether a synchronous program iterates to a unique fixed point, as block descent assumes: vertices that are
updated one by one must end in the same states as vertices that are updated in rounds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

from dgraph.errors import ProgramError
from dgraph.programs.analysis import Analysis, analyse, obstacle
from dgraph.programs.law_trials import BACK_EDGES, EDGES, SPARSE_EDGES, on_small_graph, reference_for
from dgraph.programs.program import VertexProgram
from dgraph.programs.reference import Reference, same

SETTLED_CHANGE = 1e-4  # the largest relative change of floats in the last sweep
ALLOWED_DIFFERENCE = 1e-2  # the largest relative difference between the results of two orders
PAIR = [(0, 1), (1, 0)]
SINGLE = [[edge] for edge in ((0, 1), (1, 3), (3, 1), (2, 0), (2, 3), (3, 2))]  # most programs settle on these
CHAINS = [(1, 2), (3, 4), (1, 4), (4, 5)]
ALLOWED_CHANGE = 5e-2  # the largest relative change of floats in a sweep after `stop` has ended the run
MIXTURES = 3  # how many times, on each graph, a run starts from states of different rounds
MOST_SWEEPS = 60  # sweeps over all vertices, after which rounds that have not settled are inconclusive
MOST_IN_ALL = 120  # sweeps on all graphs together, which take about 20 ms

States = list[dict[str, Any]]


def try_fixed_point(program: VertexProgram) -> None:
    """Raise a ProgramError if the order in which vertices are updated matters on a small graph."""
    analysis = analyse(program)
    if not analysis.synchronous or obstacle("block_descent", analysis):
        return
    ours, rng = on_small_graph(program), random.Random(0)
    sweeps, sweeps_to_stop = iter(range(MOST_IN_ALL)), iter(range(MOST_IN_ALL))
    for edges in (EDGES, EDGES + BACK_EDGES, SPARSE_EDGES, CHAINS, PAIR, *SINGLE):
        rounds: list[States] = []
        try:
            _check_stop(program, edges, _run(ours, analysis, edges), sweeps_to_stop)
            settled = _run_to_fixed_point(_run(ours, analysis, edges), sweeps, rounds=rounds)
            if settled is None:
                continue
            _compare(program, edges, settled, _run_to_fixed_point(_run(ours, analysis, edges), sweeps, order=sorted))
            for _ in range(MIXTURES):
                run = _run(ours, analysis, edges)
                run.state = _mixture(rounds, rng)
                _compare(
                    program, edges, settled, _run_to_fixed_point(run, sweeps, lambda all: rng.sample(all, len(all)))
                )
        except (ArithmeticError, ValueError, TypeError, LookupError):
            continue
        except StopIteration:  # no sweeps are left
            return


def _run(program: VertexProgram, analysis: Analysis, edges: list) -> Reference:
    """A run on a graph whose columns are the same for all runs."""
    return reference_for(program, analysis, edges, random.Random(0))


def _check_stop(program: VertexProgram, edges: list, run: Reference, sweeps: Iterator[int]) -> None:
    """Reject a program whose `stop` ends the run before values have settled."""
    if "stop" not in program.functions:
        return
    for _ in itertools.islice(sweeps, MOST_SWEEPS):
        run.send()
        run.apply()
        if run.done:
            break
    if not run.done:
        return
    stopped, run.done = [dict(state) for state in run.state], False
    run.send()
    run.apply()
    for v, (a, b) in enumerate(zip(stopped, run.state, strict=True)):
        if not _states_agree(a, b, ALLOWED_CHANGE):
            raise ProgramError(
                f"{program.title}: on edges {edges}, `stop` ends the run after {run.rounds - 1} rounds with {a} at "
                f'vertex {v}, which another round would change to {b}; engine="block_descent" has no such rounds, so '
                "its result would be another one; choose gas or bsp, or stop when values have settled"
            )


def _mixture(rounds: list[States], rng: random.Random) -> States:
    """States mixed from different rounds. When vertices are updated one by one, some are ahead of others, so a run from
    mixed states must lead to the same result. This finds, for example, a program that remembers values it has merely
    seen in passing."""
    return [{name: rng.choice(rounds)[v][name] for name in state} for v, state in enumerate(rounds[0])]


def _compare(program: VertexProgram, edges: list, in_rounds: States, one_by_one: States | None) -> None:
    """Reject a program whose vertices, updated one by one, do not end in the same states as in rounds."""
    where, remedy = f"{program.title}: on edges {edges}", "choose gas or bsp"
    if one_by_one is None:
        raise ProgramError(
            f"{where}, values converge in rounds, but not when vertices are updated one at a time, as "
            f'engine="block_descent" does; {remedy}'
        )
    for v, (a, b) in enumerate(zip(in_rounds, one_by_one, strict=True)):
        if not _states_agree(a, b, ALLOWED_DIFFERENCE):
            raise ProgramError(
                f"{where}, vertex {v} ends with {a} in rounds, but with {b} when vertices are updated one at a time: "
                f'the result of engine="block_descent" would depend on their order; {remedy}'
            )


def _run_to_fixed_point(
    run: Reference,
    sweeps: Iterator[int],
    order: Callable[[list[int]], list[int]] | None = None,
    rounds: list[States] | None = None,
) -> States | None:
    """The states once nothing changes, or None if that takes too long. Vertices are updated all at once, or one by one
    if there is an `order`. The states before every round are added to `rounds`. Each sweep takes one of `sweeps`."""
    for _ in range(MOST_SWEEPS):
        next(sweeps)
        before = [dict(state) for state in run.state]
        if rounds is not None:
            rounds.append(before)
        if order is None:
            run.send()
            run.apply()
        else:
            for v in order(list(range(run.vertices))):
                _bring_up_to_date(run, v)
            run.before = before
            run.fold()
        run.done, run.rounds = False, 0
        if all(_states_agree(a, b, SETTLED_CHANGE) for a, b in zip(before, run.state, strict=True)):
            return run.state
    return None


def _bring_up_to_date(run: Reference, v: int) -> None:
    """Have one vertex gather from all its in-neighbours and apply what it has gathered."""
    run.send(to=v)
    context = {**run.values_at(v, 1), **run.merge(v)}
    run.state[v] = run.call(run.phase.functions["apply"], run.states, context)


def _states_agree(a: dict[str, Any], b: dict[str, Any], tolerance: float) -> bool:
    """Whether two states agree within a tolerance."""
    return same(a, b, tolerance) or all(a[name] == b[name] or (a[name] != a[name] and b[name] != b[name]) for name in a)
