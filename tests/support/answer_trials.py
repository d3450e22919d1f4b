"""Whether an operation answers as another library or a plain definition does: on a graph that came through some door,
in some partitions. A case that fails is made smaller, and told as a line of code."""

from __future__ import annotations

import contextlib
import inspect
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import answers_of_choices
import answers_of_parts
import answers_of_paths
import answers_of_ranks
import numpy as np
from answers import CHECKS, Vertex, close, same
from graph_doors import DOORS, KEEP_ORDER, NARROW, frame, isolated, suits
from multigraphs import Multigraph, drawn, smaller

import dgraph as dg
from dgraph.errors import OptionError

MODULES = answers_of_choices, answers_of_parts, answers_of_paths, answers_of_ranks  # which fill CHECKS
NAMED = ("outgoing", "incoming", "cartesian", "hybrid", "metis")
POLICIES: dict[str, Any] = {name: name for name in NAMED}
POLICIES["vertices by a function"] = lambda ids, parts: np.arange(len(ids)) % parts
POLICIES["edges by a function"] = lambda source, destination, parts: np.arange(len(source)) % parts
LIMITED = ("bulk_async", "block_descent", "local")  # engines that do not take every operation
ANY_PARTITIONS = {  # answers that chance chooses are still the same in any partitions
    *("label_propagation", "maximal_independent_set", "coloring", "random_walks", "fast_rp", "find_cycle"),
    *("sample_neighbors", "matching"),
}
OFTEN = {"matching": 3, "factorize": 4, "triad_census": 2}  # operations that suit few graphs are tried more often
TRIALS = 400  # of smaller cases


@dataclass(frozen=True)
class Way:
    """Through which door a graph comes, and how it is divided."""

    door: str = "dict"
    parts: int = 1
    policy: str = "outgoing"

    def graph(self, graph: Multigraph, folder: str, client=None) -> dg.Graph:
        how = {"parts": self.parts, "policy": POLICIES[self.policy], "client": client}
        return DOORS[self.door](graph, Path(folder), **how)


@dataclass(frozen=True)
class Case:
    """An operation on a graph."""

    graph: Multigraph
    way: Way
    operation: str
    options: dict[str, Any]
    again: Way | None = None  # another way that must give the same answer

    def __str__(self) -> str:
        graph, table = self.graph, frame(self.graph)
        how = {"directed": graph.directed} | ({} if graph.weighted else {"weight": None}) | dict(graph.rules)
        how |= {"parts": self.way.parts, "policy": self.way.policy}
        told = ", ".join(f"{name}={value!r}" for name, value in how.items())
        vertices = f", vertices=pd.DataFrame({{'id': {list(graph.ids)}}})" if isolated(graph) else ""
        options = "".join(f", {name}={_told(value)}" for name, value in named(self.options, graph.ids).items())
        made = f"dg.Graph.from_edges({table.to_dict('list')}, {told}{vertices})"
        also = f" and {self.again}" if self.again else ""
        return f"dg.{self.operation}({made}{options})  # {self.way}{also}"


def _told(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def named(value: Any, ids: tuple) -> Any:
    """Options with the ids of vertices in place of their numbers."""
    match value:
        case Vertex():
            return ids[value]
        case list():
            return [named(one, ids) for one in value]
        case dict():
            return {named(key, ids): named(one, ids) for key, one in value.items()}
    return value


def numbers_in(value: Any) -> set[int]:
    """The vertices in options."""
    match value:
        case Vertex():
            return {int(value)}
        case list():
            return {u for one in value for u in numbers_in(one)}
        case dict():
            return {u for pair in value.items() for one in pair for u in numbers_in(one)}
    return set()


def moved(value: Any, to: dict[int, int]) -> Any:
    """Options with other numbers of vertices."""
    match value:
        case Vertex():
            return Vertex(to[value])
        case list():
            return [moved(one, to) for one in value]
        case dict():
            return {moved(key, to): moved(one, to) for key, one in value.items()}
    return value


# -- drawing -----------------------------------------------------------------------------------------------------------


def way_for(graph: Multigraph, rng: random.Random) -> Way:
    doors = [door for door in DOORS if suits(door, graph)]
    (door,) = rng.choices(doors, [8 if door in NARROW else 1 for door in doors])
    parts = rng.choice((1, 1, 2, 3, 4))
    policies = [name for name in POLICIES if door != "saved" or name in NAMED]  # functions are not saved with a graph
    return Way(door, parts, rng.choice(policies) if parts > 1 else "outgoing")


def graph_of(seed: int) -> Multigraph:
    """The graph of a seed. Some have rules that remove or merge edges, or add them."""
    rng = random.Random(seed)
    graph = drawn(rng)
    if rng.random() < 0.2:
        rules = {"loops": rng.choice(("keep", "drop"))}
        rules["repeats"] = rng.choice(("keep", "first", "sum", "min", "max") if graph.weighted else ("keep", "first"))
        rules |= {"symmetrize": True} if graph.directed and rng.random() < 0.3 else {}
        graph = replace(graph, rules=tuple(rules.items()), kept={})
    return graph


def cases_of(seed: int, share: float) -> Iterator[Case]:
    """Cases on the graph of a seed, which comes one way: of a share of the operations."""
    graph, rng = graph_of(seed), random.Random(-seed - 1)
    way = way_for(graph, rng)
    for operation, (draw, _) in CHECKS.items():
        if rng.random() < share * OFTEN.get(operation, 1):
            options = draw(graph, rng)
            if options is None or (way.door not in KEEP_ORDER and operation == "matching" and "left" not in options):
                continue
            options |= engine_for(operation, way, rng) if "engine" not in options else {}
            again = operation in ANY_PARTITIONS or options.get("deterministic")
            again = again and rng.random() < 0.5 and ("left" in options or operation != "matching")
            yield Case(graph, way, operation, options, way_for(graph, rng) if again else None)


def engine_for(operation: str, way: Way, rng: random.Random) -> dict[str, str]:
    known = inspect.signature(getattr(dg, operation)).parameters
    if "engine" not in known or rng.random() < 0.5:
        return {}
    engines = ["gas", "bsp", "bulk_async", "block_descent"] if "daemons" in known else []
    return {"engine": rng.choice([*engines, *(["local"] * (way.parts == 1))] or ["auto"])}


# -- trying ------------------------------------------------------------------------------------------------------------


class Trial:
    """The graph of a case, made once for all operations that are tried on it."""

    def __init__(self, graph: Multigraph, client=None):
        self.graph, self.client = graph, client
        self.made: dict[Way, dg.Graph] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="answers")

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: Any) -> None:
        self.made = {}
        self.folder.cleanup()

    def on(self, way: Way) -> dg.Graph:
        if way not in self.made:
            folder = tempfile.mkdtemp(dir=self.folder.name)
            self.made[way] = way.graph(self.graph, folder, self.client)
        return self.made[way]

    def problem(self, case: Case) -> BaseException | None:
        """What is wrong with an answer; `Refused` if the engine does not take the operation."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                CHECKS[case.operation].check(self.graph, self._call(case, case.way), **case.options)
                if case.again:
                    alike(self._call(case, case.way)(), self._call(case, case.again)())
            except OptionError as error:
                return Refused(str(error)) if case.options.get("engine") in LIMITED else error
            except Exception as error:
                return error
        return None

    def _call(self, case: Case, way: Way) -> Callable[..., Any]:
        return lambda **more: getattr(dg, case.operation)(
            self.on(way), **named({**case.options, **more}, self.graph.ids)
        )


class Refused(Exception):
    """An engine that does not take an operation, or one of its options."""


def alike(one: Any, other: Any) -> None:
    """Two answers are the same."""
    if not hasattr(one, "columns"):
        one, other = (found.edges if hasattr(found, "edges") else found for found in (one, other))
        one, other = (found.compute() if hasattr(found, "compute") else found for found in (one, other))
    elif hasattr(one, "compute"):
        one, other = one.compute(), other.compute()
    if not hasattr(one, "columns"):
        same(one, other, "in other partitions")
        return
    same(len(one.columns), len(other.columns))
    ends = [*zip(one.columns, other.columns, strict=True)]
    for name, its_name in ends:
        values, others = one[name].tolist(), other[its_name].tolist()
        if one[name].dtype.kind == "f" or name == "embedding":
            close(values, others, rtol=1e-5, atol=1e-6, what=f"{name} in other partitions")
        else:
            same([str(value) for value in values], [str(value) for value in others], f"{name} in other partitions")


def problem_of(case: Case, client=None) -> BaseException | None:
    with Trial(case.graph, client) as trial:
        return trial.problem(case)


# -- shrinking ---------------------------------------------------------------------------------------------------------


def shrunk(case: Case, problem: BaseException) -> Case:
    """A case as small as possible that fails with an error of the same type."""
    for _ in range(TRIALS):
        for one in simpler(case):
            with contextlib.suppress(Exception):
                if type(problem_of(one)) is type(problem):
                    case = one
                    break
        else:
            return case
    return case


def simpler(case: Case) -> Iterator[Case]:
    """Cases that are simpler by one thing."""
    if case.again:
        yield replace(case, again=None)
    fewer = replace(case.way, parts=min(case.way.parts, 2))
    for way in (Way(), replace(case.way, door="dict"), fewer, replace(case.way, policy="outgoing")):
        if way != case.way:
            yield replace(case, way=way)
    if case.again not in (None, Way("dict", 2)):
        yield replace(case, again=Way("dict", 2))
    needed = [
        name
        for name, one in inspect.signature(getattr(dg, case.operation)).parameters.items()
        if one.default is one.empty or name == "left"
    ]
    for name in case.options:
        if name not in needed:
            yield replace(case, options={key: value for key, value in case.options.items() if key != name})
    for graph, to in smaller(case.graph, numbers_in(case.options)):
        if suits(case.way.door, graph):
            labels = case.options.get("labels")
            more = {} if labels is None else {"labels": [labels[u] for u in sorted(to)]}
            yield replace(case, graph=graph, options={**moved(case.options, to), **more})
