"""Whether a random program is refused, or has one answer: in the reference in any order that the laws allow, and on
every engine, policy and number of partitions."""

from __future__ import annotations

import contextlib
import itertools
import random
import warnings
from dataclasses import dataclass, field
from functools import reduce
from unittest import mock

import numpy as np
from interpreted import interpreted
from random_programs import Writer, made

import dgraph as dg
from dgraph.codegen import compiler
from dgraph.errors import EndlessWarning, OptionError, ProgramError, RunError, UnsentWarning
from dgraph.programs import reference
from dgraph.programs.analysis import Analysis, analyse, engines_for
from dgraph.programs.fixed_point import try_fixed_point
from dgraph.programs.law_trials import try_laws
from dgraph.programs.laws import try_merges
from dgraph.programs.monoid import NEIGHBOURHOODS
from dgraph.programs.program import Delta, Global
from dgraph.programs.reference import Reference, merged, parameters, same, stored

LARGE, FULL = 2**30, 2**63 - 1  # numbers between these would soon overflow; FULL itself is an identity
EXACT = {"float64": 2.0**40, "float32": 2.0**18}  # larger sums of eighths would be rounded
ROUNDS = 40  # a run that takes more on these graphs counts as endless
FEW = 6  # rounds after which the states of endless programs are compared
SEED = 5
POLICIES = {name: name for name in ("outgoing", "incoming", "cartesian", "hybrid", "metis")}
POLICIES["vertices of the user's own"] = lambda ids, parts: (7 * ids + 3) % parts
POLICIES["edges of the user's own"] = lambda source, destination, parts: (source + 3 * destination) % parts
EVERY_WAY = [(1, "outgoing"), *itertools.product((2, 3, 4), POLICIES)]  # partitions and policies
IN_ROUNDS = ("bsp", "gas")


class SmallGraph:
    """A small graph, whose partitions are made when they are needed."""

    def __init__(self, rng: random.Random):
        self.n = n = rng.randrange(2, 7)
        edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randrange(1, 11))]
        if rng.random() < 0.5:  # without cycles
            edges = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]] or [(0, 1)]
        self.edges, self.directed = edges, rng.random() < 0.7
        self.columns = {"weight": [rng.randrange(1, 17) / 4 for _ in edges], "toll": [rng.randrange(4) for _ in edges]}
        self.heights = [rng.randrange(-2, 6) for _ in range(n)]
        self.built: dict[tuple[int, str], dg.Graph] = {}

    def partitioned(self, way: tuple[int, str]) -> dg.Graph:
        if way not in self.built:
            src, dst = zip(*self.edges, strict=True)
            self.built[way] = dg.Graph.from_edges(
                {"src": list(src), "dst": list(dst), **self.columns},
                weight="weight",
                directed=self.directed,
                vertices={"id": list(range(self.n)), "height": self.heights},
                parts=way[0],
                policy=POLICIES[way[1]],
            )
        return self.built[way]

    def is_acyclic(self, along: str) -> bool:
        left = set(self.edges)
        if along == "both" or not self.directed:
            return False
        while left:
            targets = {v for _, v in left}
            if all(u in targets for u, _ in left):
                return False
            left = {(u, v) for u, v in left if u in targets}
        return True

    def __str__(self) -> str:
        return f"{self.edges} {self.columns} heights={self.heights} directed={self.directed}"


class Wide(np.int64):
    """A component of a vector of whole numbers, as kernels compute with it."""


def _component(whole, c):
    one = whole[c]
    if isinstance(one, float):
        return WITHOUT_WRAPPING(whole, c)
    component = Wide(one)
    component.whole = [np.int64(value) for value in whole]
    return component


WITHOUT_WRAPPING = reference.component_of_vector


class Machine(Reference):
    """The reference with the arithmetic of kernels: every whole number wraps at 64 bits. It notices numbers for which
    an answer may depend on the order of operations, because they wrap or are rounded."""

    def __init__(self, program, graph: SmallGraph):
        self.inexact = False
        super().__init__(program, graph.edges, graph.n, graph.columns, {"height": graph.heights}, graph.directed, SEED)

    def call(self, function, fields, context, **how):
        whole = {name: np.int64(stored(np.dtype("int64"), one)) for name, one in context.items() if type(one) is int}
        with np.errstate(all="ignore"), mock.patch.object(reference, "component_of_vector", _component):
            returned = super().call(function, fields, {**context, **whole}, **how)
        for one in fields:
            values = returned[one.name]
            for value in values if isinstance(values, tuple) else [values]:
                self._notice(value, one)
        return returned

    def _notice(self, value, one) -> None:
        if isinstance(value, float):
            self.inexact |= EXACT[one.dtype.name] < abs(value) < np.inf
        else:
            self.inexact |= LARGE < abs(value) < FULL

    def merge(self, v):
        for one, values in self.inbox[v].items():
            if one.merge is dg.SUM and one.dtype.kind in "iu":
                flat = [abs(x) for value in values for x in (value if isinstance(value, tuple) else (value,))]
                self.inexact |= sum(flat) > np.iinfo(one.dtype).max
        merged_values = super().merge(v)
        for one in self.inbox[v]:
            if one.merge is dg.PRODUCT:
                value = merged_values[one.name]
                for x in value if isinstance(value, tuple) else (value,):
                    self._notice(x, one)
        return merged_values


@dataclass
class Answer:
    """What the reference says: after all rounds, or, if there are too many, after a FEW."""

    states: list
    columns: dict
    totals: dict
    rounds: int
    ended: bool


def answer(program, graph: SmallGraph, order: str = "bsp") -> Answer | None:
    """The reference's answer, or None if numbers are too large or plain Python cannot compute them."""
    try:
        for limit in (ROUNDS, FEW):
            run = Machine(program, graph)
            steps = (run.send, run.apply)[:: 1 if order == "bsp" else -1]
            if order == "gas":
                run.send()
            while not run.done and run.rounds < limit:
                for step in steps:
                    step()
            ended = run.done
            if ended or limit == FEW:
                break
        columns = run.results()
        return None if run.inexact else Answer(run.state, columns, run.globals, run.rounds, ended)
    except (ArithmeticError, ValueError):
        return None


# -- the reference in other orders -------------------------------------------------------------------------------------


class AnyOrder(Machine):
    """A run without rounds: vertices fire one by one, in random order, each on some of the messages it has."""

    def settle(self, rng: random.Random) -> bool:
        """Whether no vertex has a message left in the end."""
        phase = self.program.phases[0]
        fields = {one.name: one for one in phase.messages}
        silent = {one.name: self.fill(one, one.identity) for one in phase.messages}
        fresh = {one.name: self.fill(one, one.start) for one in self.states if isinstance(one, Delta)}
        triggers = [one.name for one in self.states if one.name in parameters(phase.functions["send"])] or [
            *self.state[0]
        ]
        seed = self.program.functions["seed"]
        waiting = [[self.call(seed, phase.messages, self.values_at(v, 1))] for v in range(self.vertices)]
        for _ in range(200 * self.vertices):
            waiting = [[one for one in messages if one != silent] for messages in waiting]
            ready = [v for v, messages in enumerate(waiting) if messages]
            if not ready:
                return True
            v = rng.choice(ready)
            taken = rng.sample(waiting[v], rng.randrange(1, len(waiting[v]) + 1))
            for one in taken:
                waiting[v].remove(one)
            message = reduce(lambda a, b: merged(fields, a, b), taken, silent)
            context = {**self.values_at(v, 1), **message}
            after = self.call(phase.functions["apply"], self.states, context)
            changed = any({**self.state[v], **fresh}[name] != after[name] for name in triggers)
            self.state[v] = after
            if not changed:
                continue
            for u, target, columns, _ in self.along[phase.along]:
                if u == v:
                    ahead = {f"target_{name}": value for name, value in self.values_at(target, 1).items()}
                    context = {**self.values_at(v, 1), **columns, **ahead}
                    waiting[target].append(self.call(phase.functions["send"], phase.messages, context))
        return False


def order_differences(program, graph: SmallGraph, expected: Answer, rng: random.Random) -> list[str]:
    """Where the answer depends on the order in which vertices fire, though the program may run without rounds."""
    run = AnyOrder(program, graph)
    try:
        settles = run.settle(rng)
    except (ArithmeticError, ValueError):
        return []
    if run.inexact:
        return []
    if not settles:
        return [f"{graph}, in any order: vertices fire without end"]
    plain = [one.name for one in run.plain]
    return [
        f"{graph}, in any order: vertex {v} ends with {found[name]} in {name}, not {want[name]}"
        for v, (found, want) in enumerate(zip(run.state, expected.states, strict=True))
        for name in plain
        if not same(found[name], want[name]) and not (found[name] != found[name] and want[name] != want[name])
    ]


# -- verdicts ----------------------------------------------------------------------------------------------------------


@dataclass
class Verdict:
    """What became of a program: "refused", "agrees", "differs", or "no answer" on any graph that was tried."""

    outcome: str = "no answer"
    found: list[str] = field(default_factory=list)
    engines: tuple[str, ...] = ()


def admitted(program) -> tuple[str, ...]:
    """The engines that take a program, as `dg.run` decides it. Raises a ProgramError if there are none."""
    engines = engines_for(analysis := analyse(program))
    merges = [message for phase in program.phases for message in phase.messages] + program.of(Global)
    try_merges(program, [one for one in merges if one.merge not in NEIGHBOURHOODS])
    try_laws(program, analysis)
    try:
        try_fixed_point(program)
    except ProgramError:
        return tuple(engine for engine in engines if engine != "block_descent")
    return engines


def suitable(engines: tuple[str, ...], analysis: Analysis, graph: SmallGraph, expected: Answer) -> tuple[str, ...]:
    """The engines that must give the answer. Sums that travel around a cycle end only because they happen to cancel,
    and there is no order of vertices in a run that does not end."""
    phase = analysis.phases[0]
    counts = not analysis.synchronous and not all(one.merge.idempotent for one in phase.messages)
    if not expected.ended or (counts and not graph.is_acyclic(phase.along)):
        return tuple(engine for engine in engines if engine in IN_ROUNDS)
    return engines


def with_options(engine: str, limit: int, rng: random.Random):
    """An engine with random options, which must not change the answer."""
    if engine == "block_descent":
        size, order = rng.choice(("auto", 1, 2)), rng.choice(("auto", "cyclic", "priority"))
        return dg.BlockDescent(block_size=size, order=order)
    if engine == "bulk_async":
        return dg.BulkAsync(local_rounds=rng.choice((None, 1)))
    direction = rng.choice(("auto", "auto", "push", "pull"))
    return (dg.Gas if engine == "gas" else dg.Bsp)(direction=direction, max_rounds=limit)


def engine_differences(program, engine: str, graph: SmallGraph, way, expected: Answer, rng: random.Random) -> list[str]:
    """Where a run differs from the reference."""
    limit = ROUNDS if expected.ended else expected.rounds
    chosen = with_options(engine, limit, rng)
    where = f"{graph}, {way[0]} {way[1]}, {chosen}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsentWarning)
            warnings.simplefilter("ignore", EndlessWarning)
            result = dg.run(graph.partitioned(way), program, engine=chosen, check_laws=False, random_seed=SEED)
            table = result.compute()
    except (ProgramError, OptionError, RunError) as error:
        return [f"{where}: {type(error).__name__} {error}"]
    if _is_ahead(program, table):
        return []
    found = []
    for name, values in expected.columns.items():
        if not _alike(table[name].tolist(), values):
            found.append(f"{where}: {name} is {table[name].tolist()}, not {values}")
    for name, value in expected.totals.items():
        if not _alike(result.totals[name], value):
            found.append(f"{where}: the global value {name} is {result.totals[name]}, not {value}")
    if program.kind == "synchronous" and engine in IN_ROUNDS and result.rounds != expected.rounds:
        found.append(f"{where}: {result.rounds} rounds, not {expected.rounds}")
    return found


def _alike(found, expected) -> bool:
    found, expected = (
        np.array([np.asarray(one, float) for one in np.atleast_1d(values)]) for values in (found, expected)
    )
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-9, equal_nan=True)


def _all_alike(found: dict, expected: dict) -> bool:
    return all(_alike(found[name], expected[name]) for name in expected)


def _is_ahead(program, table) -> bool:
    """Whether products are as large as only a vertex that is ahead of others makes them; such numbers wrap."""
    if not any(message.merge is dg.PRODUCT for message in program.phases[0].messages):
        return False
    whole = [np.abs(np.array(table[name].tolist(), float)) for name in table if name != "vertex"]
    return any(bool((one > LARGE).any()) for one in whole)


def verdict(program, graphs: list[SmallGraph], rng: random.Random, ways: list | None = None, some: int = 0) -> Verdict:
    """The verdict on a program on these graphs: from the reference alone, or from runs on engines as well: all of
    them on these ways to divide a graph, or each on `some` random ways."""
    try:
        engines, analysis = admitted(program), analyse(program)
    except ProgramError as error:
        return Verdict("refused", [str(error)])
    result = Verdict(engines=engines)
    for graph in graphs:
        if (expected := answer(program, graph)) is None:
            continue
        result.outcome = "agrees"
        other = answer(program, graph, order="gas")
        if other and (other.rounds != expected.rounds or not _all_alike(other.columns, expected.columns)):
            result.found.append(f"{graph}: the reference depends on the order of send and apply: {other}, {expected}")
        fitting = suitable(engines, analysis, graph, expected)
        if analysis.in_any_order and set(fitting) - {*IN_ROUNDS}:
            result.found += order_differences(program, graph, expected, rng)
        for engine in fitting if ways or some else ():
            for way in ways or rng.sample(EVERY_WAY, some):
                result.found += engine_differences(program, engine, graph, way, expected, rng)
    result.outcome = "differs" if result.found else result.outcome
    return result


def tried(writer: Writer, seed: int, graphs: list[SmallGraph], rng: random.Random, how: str = "reference") -> Verdict:
    """The verdict on a program: from the reference, from runs of interpreted kernels, or from compiled runs on every
    engine, policy and number of partitions."""
    try:
        program = made(writer.text, str(seed))
    except ProgramError as error:
        return Verdict("refused", [str(error)])
    if how == "reference":
        return verdict(program, rng.sample(graphs, 2), rng)
    with interpreted() if how == "interpreted" else contextlib.nullcontext():
        ways = EVERY_WAY if how == "compiled" else None
        result = verdict(program, rng.sample(graphs, 1 if ways else 3), rng, ways=ways, some=2)
        compiler.forget_kernels()
    return result
