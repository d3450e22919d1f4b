"""Random vertex programs from a small grammar, and whether all engines give the reference's answer."""

import itertools
import linecache
import random
import warnings

import numpy as np
import pandas as pd

import dgraph as dg
from dgraph.codegen import compiler
from dgraph.errors import EndlessWarning, OptionError, ProgramError, RunError, UnsentWarning
from dgraph.programs.analysis import analyse, engines_for
from dgraph.programs.fixed_point import try_fixed_point
from dgraph.programs.law_trials import try_laws
from dgraph.programs.reference import Reference, stored

MERGES = {"int": ("MIN", "MAX", "SUM", "SUM", "PRODUCT"), "float": ("MIN", "MAX", "SUM"), "bool": ("AND", "OR")}
FITTING = {"MIN": "min", "MAX": "max", "SUM": "+", "PRODUCT": "*", "AND": "and", "OR": "or"}
START = {
    ("MIN", "int"): "dg.UNREACHED",
    ("MIN", "float"): "inf",
    ("MAX", "int"): "-(2**63)",
    ("MAX", "float"): "-inf",
    ("PRODUCT", "int"): "1",
    ("AND", "bool"): "True",
}
LARGE, FULL = 2**30, 2**63 - 1  # one more product overflows
ROUNDS = 40  # a run that takes more on these graphs is left out
POLICIES = {name: name for name in ("outgoing", "incoming", "cartesian", "hybrid", "metis")}
POLICIES["of the user's own"] = lambda ids, parts: (7 * ids + 3) % parts
_number = itertools.count()


class Writer:
    """Writes one program."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def program(self) -> str:
        """The text of a module with the program `P`."""
        rng = self.rng
        self.kind = rng.choice(("accumulative", "accumulative", "synchronous"))
        self.type = rng.choice(("int", "int", "float", "bool"))
        self.merge = rng.choice(MERGES[self.type])
        start = START.get((self.merge, self.type), "0" if self.type != "bool" else "False")
        self.states = {"a": self.type}
        lines = [f"a = dg.State({self.type}, start={start if rng.random() < 0.8 else self.literal(self.type)})"]
        if rng.random() < 0.4:
            self.states["b"] = rng.choice(("int", "bool"))
            lines.append(f"b = dg.State({self.states['b']}, start={self.literal(self.states['b'])})")
        self.delta = self.kind == "accumulative" and rng.random() < (0.85 if self.merge in ("SUM", "PRODUCT") else 0.3)
        if self.delta:
            identity = f", start={start}" if self.merge not in ("SUM", "OR") else ""
            lines.append(f"new = dg.Delta({self.type}{identity})")
        self.messages = {"message": self.type}
        lines.append(f"message = dg.Message({self.type}, dg.{self.merge})")
        lines.append(f'along = "{rng.choice(("out", "out", "in", "both"))}"')
        lines.append(f'kind = "{self.kind}"')
        lines += self.accumulative(start) if self.kind == "accumulative" else self.synchronous()
        body = "\n".join(f"    {line}" for part in lines for line in part.split("\n"))
        return f"from math import inf\n\nimport dgraph as dg\n\n\nclass P(dg.VertexProgram):\n{body}\n"

    def accumulative(self, identity: str) -> list[str]:
        rng = self.rng
        silent = "1" if self.merge == "PRODUCT" else "False" if self.merge == "OR" else identity
        seed = self.expression(self.type, {"id": "int"}, 1)
        if rng.random() < 0.6:
            seed = f"{seed} if id {rng.choice(('==', '<', '!='))} {rng.randrange(4)} else {silent}"
        return [self.function("seed", ["id"], [seed]), self.send(), self.function("apply", *self.apply())]

    def synchronous(self) -> list[str]:
        starts = [self.expression(kind, {"id": "int"}, 1) for kind in self.states.values()]
        lines = [self.function("start", ["id"], starts), self.send(), self.function("apply", *self.apply())]
        if self.rng.random() < 0.5:
            lines.append(self.function("stop", ["round"], [f"round >= {self.rng.randrange(1, 6)}"]))
        return lines

    def send(self) -> str:
        rng = self.rng
        main = {"new": self.type} if self.delta and rng.random() < 0.9 else {"a": self.type}
        more = {"weight": "float", "degree": "int", "id": "int", **self.states}
        names = main | {name: more[name] for name in more if rng.random() < 0.15}
        (first,) = main
        extra = self.expression(self.type, names, 1)
        value = rng.choice((first, first, f"{first} + 1", f"{first} + {extra}", extra, f"2 * {first}"))
        if self.type == "bool":
            value = rng.choice((first, f"{first} and {extra}", extra))
        if rng.random() < 0.2:
            value = f"{value} if {self.expression('bool', names, 1)} else {self.literal(self.type)}"
        return self.function("send", list(names), [value])

    def apply(self) -> tuple[list[str], list[str]]:
        rng, names = self.rng, {**self.states, "message": self.type}
        names |= {"degree": "int"} if rng.random() < 0.15 else {}
        word = FITTING[self.merge]
        fitting = f"{word}(a, message)" if word in ("min", "max") else f"a {word} message"
        values = [fitting if rng.random() < 0.8 else self.expression(self.type, names, 2)]
        if "b" in self.states:
            usual = (f"b or {self.expression('bool', names, 1)}", self.expression("bool", names, 2))
            counts = ("b", f"max(b, {self.expression('int', names, 1)})", self.expression("int", names, 2))
            values.append(rng.choice(usual if self.states["b"] == "bool" else counts))
        if self.delta:
            values.append("message" if rng.random() < 0.85 else self.expression(self.type, names, 1))
        return list(names), values

    def function(self, name: str, parameters: list[str], values: list[str]) -> str:
        used = [one for one in parameters if any(_has(value, one) for value in values)]
        return f"def {name}({', '.join(used)}):\n    return {', '.join(values)}"

    def expression(self, kind: str, names: dict[str, str], depth: int) -> str:
        rng, known = self.rng, [name for name, one in names.items() if one == kind]
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(known) if known and rng.random() < 0.8 else self.literal(kind)
        if kind == "bool":
            number = rng.choice(("int", "float" if "float" in names.values() else "int"))
            a, b = (self.expression(number, names, depth - 1) for _ in range(2))
            p, q = (self.expression("bool", names, depth - 1) for _ in range(2))
            return rng.choice((f"({a} > {b})", f"({a} == {b})", f"({p} and {q})", f"({p} or {q})", f"(not {p})"))
        a, b = (self.expression(kind, names, depth - 1) for _ in range(2))
        test = self.expression("bool", names, depth - 1)
        sums = f"({a} + {b})", f"({a} - {b})"
        return rng.choice((*sums, f"min({a}, {b})", f"max({a}, {b})", f"({a} if {test} else {b})"))

    def literal(self, kind: str) -> str:
        if kind == "bool":
            return self.rng.choice(("True", "False"))
        return str(self.rng.choice((0, 1, 2, 3, 5))) + (".0" if kind == "float" else "")


def _has(value: str, name: str) -> bool:
    return name in "".join(c if c.isalnum() or c == "_" else " " for c in value).split()


def made(text: str) -> dg.VertexProgram:
    """An instance of the program in a text."""
    place = f"<program {next(_number)}>"
    linecache.cache[place] = len(text), None, text.splitlines(keepends=True), place
    names = {"__name__": "programs_of_the_fuzzer"}
    exec(compile(text, place, "exec"), names)
    return names["P"]()


class Graphs:
    """A few small graphs, each with several partitions and policies."""

    def __init__(self, seed: int, count: int = 10, ways: int = 4):
        rng = random.Random(seed)
        self.all = [self._graph(rng, ways) for _ in range(count)]

    def _graph(self, rng: random.Random, ways: int) -> tuple:
        n = rng.randrange(2, 7)
        edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randrange(1, 11))]
        if rng.random() < 0.5:
            edges = [(min(e), max(e)) for e in edges if e[0] != e[1]] or [(0, 1)]
        weights, directed = [rng.randrange(1, 17) / 4 for _ in edges], rng.random() < 0.7
        src, dst = zip(*edges, strict=True)
        frame = {"src": list(src), "dst": list(dst), "weight": weights}
        made_of = {"weight": "weight", "directed": directed, "vertices": {"id": list(range(n))}}
        chosen = [(1, "outgoing"), *((rng.randrange(2, 5), rng.choice(list(POLICIES))) for _ in range(ways - 1))]
        graphs = [
            (f"{parts} {policy}", dg.Graph.from_edges(frame, parts=parts, policy=POLICIES[policy], **made_of))
            for parts, policy in chosen
        ]
        return edges, weights, n, directed, graphs


class Machine(Reference):
    """The reference with the arithmetic of kernels: every whole number wraps at 64 bits."""

    overflows = False  # what rounds lead to by wrapping depends on how many there are

    def call(self, function, fields, context, **how):
        whole = {name: np.int64(stored(np.dtype("int64"), one)) for name, one in context.items() if type(one) is int}
        with np.errstate(all="ignore"):
            returned = super().call(function, fields, {**context, **whole}, **how)
        self.overflows |= any(isinstance(one, int) and LARGE < abs(one) < FULL for one in returned.values())
        return returned


def _is_acyclic(along: str, edges: list, directed: bool) -> bool:
    if along == "both" or not directed:
        return False
    left = set(edges)
    while left:
        targets = {v for _, v in left}
        if all(u in targets for u, _ in left):
            return False
        left = {(u, v) for u, v in left if u in targets}
    return True


def answer(program: dg.VertexProgram, edges: list, weights: list, n: int, directed: bool) -> dict | None:
    """The reference's answer; None if there is none: numbers overflow, or sums go around a cycle, which may end only
    because they happen to cancel."""
    (message,) = program.phases[0].messages
    if program.kind == "accumulative" and message.merge is dg.SUM and not _is_acyclic(program.along, edges, directed):
        return None
    try:
        reference = Machine(program, edges, n, {"weight": weights}, {}, directed, 0)
        while not reference.done:
            reference.send()
            reference.apply()
            if reference.rounds > ROUNDS:
                return None
        return None if reference.overflows else reference.results()
    except (ArithmeticError, ValueError):
        return None


def _admitted(program: dg.VertexProgram, engines: tuple[str, ...]) -> tuple[str, ...]:
    """The engines that admit a program."""
    try:
        try_fixed_point(program)
    except ProgramError:
        return tuple(engine for engine in engines if engine != "block_descent")
    return engines


def _has_overflown(program: dg.VertexProgram, table: pd.DataFrame) -> bool:
    """Whether products are as large as only a vertex that is ahead of others makes them; such numbers wrap."""
    (message,) = program.phases[0].messages
    whole = table.select_dtypes("int64").drop(columns="vertex")
    return message.merge is dg.PRODUCT and bool((whole.abs() > LARGE).any(axis=None) or (whole < -LARGE).any(axis=None))


def _variant(engine: str, rng: random.Random) -> str | dg.BlockDescent | dg.BulkAsync:
    """An engine with random options, which must not change the answer."""
    if engine == "block_descent":
        size, order = rng.choice(("auto", 1, 2)), rng.choice(("auto", "cyclic", "priority"))
        return dg.BlockDescent(block_size=size, order=order)
    if engine == "bulk_async":
        return dg.BulkAsync(local_rounds=rng.choice((None, 1)))
    return engine


def differences(text: str, graphs: Graphs, rng: random.Random, several: int = 4) -> tuple[str, list[str]]:
    """What became of a program ("refused", "agrees", "endless"), and where it differs from the reference."""
    try:
        program = made(text)
        engines = engines_for(analysis := analyse(program))
        try_laws(program, analysis)
        engines = _admitted(program, engines)
    except ProgramError:
        return "refused", []
    found, agreed = [], False
    for edges, weights, n, directed, ways in rng.sample(graphs.all, several):
        expected = answer(program, edges, weights, n, directed)
        if expected is None:
            continue
        for engine in engines:
            way, graph = rng.choice(ways)
            engine = _variant(engine, rng)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UnsentWarning)
                    warnings.simplefilter("ignore", EndlessWarning)
                    table = dg.run(graph, program, engine=engine, check_laws=False).compute()
            except (ProgramError, OptionError, RunError) as error:
                found.append(f"{edges} {weights} {directed=}, {way}, {engine}: {type(error).__name__} {error}")
                continue
            agreed = True
            if _has_overflown(program, table):
                continue
            for name, values in expected.items():
                if not np.allclose(table[name].astype(float), np.array(values, float), rtol=1e-9, equal_nan=True):
                    wrong = f"{name} is {table[name].tolist()}, not {values}"
                    found.append(f"{edges} {weights} {directed=}, {way}, {engine}: {wrong}")
    compiler.forget_kernels()
    return "agrees" if agreed and not found else "differs" if found else "endless", found
