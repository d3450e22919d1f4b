"""Random vertex programs from a grammar of well-typed declarations and functions."""

from __future__ import annotations

import linecache
import random
import re
from dataclasses import dataclass

import dgraph as dg

NEEDED = ("SUM with Delta", "several fields", "vectors", "globals", "phases", "random draws")  # each in a fifth
HEADER = """from math import inf

import dgraph as dg


def halved(x):
    return x // 2 if x > 0 else 0


def union(a, b):
    return a | b


def apart(a, b):
    return a - b


UNION = dg.Monoid("UNION", union, lambda dtype: 0, idempotent=True)
APART = dg.Monoid("APART", apart, lambda dtype: 0)


class P(dg.VertexProgram):
"""
FAMILY = {"int": "int", "float": "float", "bool": "bool", "'int32'": "int", "'uint8'": "int", "'float32'": "float"}
MERGES = {
    "int": ("MIN", "MAX", "SUM", "SUM", "SUM", "PRODUCT"),
    "float": ("MIN", "MAX", "SUM", "SUM"),
    "bool": ("AND", "OR"),
}
WHOLE = ("MOST_FREQUENT", "CHOOSE", "H_INDEX", "HEAVIEST")
FITTING = {"MIN": "min", "MAX": "max", "SUM": "+", "PRODUCT": "*", "AND": "and", "OR": "or", "UNION": "|", "APART": "-"}
COUNTING = ("SUM", "PRODUCT", "APART")
IDENTITY = {
    **{("MIN", "int"): "dg.UNREACHED", ("MIN", "'int32'"): "2147483647", ("MIN", "'uint8'"): "255"},
    **{("MAX", "int"): "-(2**63)", ("MAX", "'int32'"): "-(2**31)"},
    **{("MIN", kind): "inf" for kind in ("float", "'float32'")},
    **{("MAX", kind): "-inf" for kind in ("float", "'float32'")},
}
DRAWS = {
    "int": ("int({} * 4)", "int({} * 2)"),
    "float": ("(int({} * 8) / 8)",),
    "bool": ("({} < 0.5)", "({} < 0.2)"),
}
NAMES = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Declared:
    """A field of a random program."""

    name: str
    dtype: str
    merge: str = ""
    vector: bool = False

    @property
    def family(self) -> str:
        return FAMILY[self.dtype]

    @property
    def identity(self) -> str:
        if self.merge in ("AND", "PRODUCT"):
            return "True" if self.merge == "AND" else "1"
        return IDENTITY.get((self.merge, self.dtype), "False" if self.family == "bool" else "0")


class Writer:
    """Writes one program: its `text`, and its `features`, among them those of NEEDED."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.synchronous, self.width = self.chance(0.52), self.chance(0.34) and self.rng.choice((2, 3))
        self.draws, self.rounds = self.chance(0.36), self.chance(0.15)
        self.features: set[str] = set()
        body = self.body()
        self.text = HEADER + "".join(f"    {line}\n" for part in body for line in part.split("\n"))
        if re.search(r"\b(vertex_)?random\b", self.text):
            self.features.add("random draws")

    # -- declarations --------------------------------------------------------------------------------------------------

    def body(self) -> list[str]:
        phased = self.synchronous and self.chance(0.6)
        self.phases = [self.messages() for _ in range(self.rng.choice((2, 2, 3)) if phased else 1)]
        self.states, self.deltas = self.fields_held(), list[Declared]()
        if self.chance(0.4 if self.synchronous else 1.0):
            self.deltas = self.new_parts()
        self.globals = (
            [self.global_value(f"g{i}") for i in range(self.rng.choice((1, 1, 2)))] if self.chance(0.4) else []
        )
        held = [*self.states, *self.deltas]
        if any(field.vector for field in (*held, *(one for phase in self.phases for one in phase))):
            self.features.add("vectors")
        lines = [self.declared(field) for field in held]
        lines += ["p = dg.Parameter(int, 3)", "first = dg.Parameter(dg.vertex, 1)", "toll = dg.EdgeColumn(int)"]
        lines += ["height = dg.VertexColumn(int)", f'kind = "{"synchronous" if self.synchronous else "accumulative"}"']
        lines += [one for _, one in self.globals]
        lines += [self.start()] if self.synchronous or self.chance(0.1) else []
        lines += [] if self.synchronous else [self.seed()]
        for number, messages in enumerate(self.phases):
            one = [self.message(field) for field in messages] + [f'along = "{self.pick("out", "out", "in", "both")}"']
            one += [self.send(messages), self.apply(messages)]
            inner = "\n".join(f"    {line}" for part in one for line in part.split("\n"))
            lines += [f"class Step{number}(dg.Phase):\n{inner}"] if phased else one
        if phased:
            self.features.add("phases")
        lines += [self.stop()] if self.chance(0.6 if self.synchronous else 0.04) else []
        lines += [self.result(number) for number in range(self.rng.choice((1, 2)))] if self.chance(0.25) else []
        return lines

    def messages(self) -> list[Declared]:
        """The fields of the messages of a phase."""
        if self.synchronous and self.chance(0.15):
            whole = self.rng.choice(WHOLE)
            return [Declared(name, "int", whole) for name in ("m", "w")[: 1 + (whole == "HEAVIEST")]]
        several = self.rng.choice((2, 2, 3)) if self.chance(0.4) else 1
        if several > 1:
            self.features.add("several fields")
        return [self.field(f"m{i}") for i in range(several)]

    def field(self, name: str) -> Declared:
        dtype = self.pick("int", "int", "int", "float", "float", "bool", self.pick("'int32'", "'uint8'", "'float32'"))
        merge = self.rng.choice(MERGES[FAMILY[dtype]])
        if FAMILY[dtype] == "int" and self.chance(0.06):
            merge = self.pick("UNION", "UNION", "APART")
        return Declared(name, dtype, merge, bool(self.width) and self.chance(0.7))

    def fields_held(self) -> list[Declared]:
        """The States: one for each field of messages, and perhaps one more."""
        if self.synchronous:
            fields = self.rng.sample(every := [one for phase in self.phases for one in phase], min(2, len(every)))
        else:
            fields = self.phases[0]
        states = [Declared(f"a{i}", one.dtype, one.merge, one.vector) for i, one in enumerate(fields)]
        if self.chance(0.35):
            states.append(Declared("b", self.pick("int", "bool"), "", bool(self.width) and self.chance(0.3)))
        return states

    def new_parts(self) -> list[Declared]:
        """The Deltas: what a firing adds to a State."""
        parts = []
        for number, one in enumerate(self.phases[0]):
            if one.merge not in WHOLE and self.chance(0.92 if one.merge in COUNTING else 0.25):
                parts.append(Declared(f"new{number}", one.dtype, one.merge, one.vector))
                if one.merge == "SUM":
                    self.features.add("SUM with Delta")
        return parts

    def declared(self, field: Declared) -> str:
        shape = f", shape={self.width}" if field.vector else ""
        if field in self.deltas:
            start = "" if field.identity in ("0", "False") else f", start={field.identity}"
            return f"{field.name} = dg.Delta({field.dtype}{start}{shape})"
        start = self.literal(field.family)
        if field.merge and field.merge not in WHOLE and self.chance(0.85):
            start = field.identity
        return f"{field.name} = dg.State({field.dtype}, start={start}{shape})"

    def message(self, field: Declared) -> str:
        merge = field.merge if field.merge in ("UNION", "APART") else f"dg.{field.merge}"
        shape = f", shape={self.width}" if field.vector else ""
        return f"{field.name} = dg.Message({field.dtype}, {merge}{shape})"

    def global_value(self, name: str) -> tuple[Declared, str]:
        dtype = self.pick("int", "int", "float", "bool")
        merge = self.pick("AND", "OR") if dtype == "bool" else self.pick("SUM", "SUM", "MIN", "MAX")
        field = Declared(name, dtype, merge, bool(self.width) and self.chance(0.3))
        self.features.add("globals")
        known = self.known(self.states, "id", before=self.chance(0.3), late=True)
        function = self.function(name, known, [field])
        shape = f", shape={self.width}" if field.vector else ""
        return field, f"@dg.Global({dtype}, dg.{merge}{shape})\n{function}"

    # -- functions -----------------------------------------------------------------------------------------------------

    def start(self) -> str:
        return self.function("start", self.known([], "id"), self.states)

    def seed(self) -> str:
        silent = [one.identity for one in self.phases[0]]
        names = self.known([], "id")
        values = [self.expression(one.family, names, 1) for one in self.phases[0]]
        if self.chance(0.7):
            test = f"id {self.pick('==', '<', '!=')} {self.pick(0, 1, 2, 'first')}"
            values = [f"({value} if {test} else {none})" for value, none in zip(values, silent, strict=True)]
        return self.text_of("seed", values)

    def send(self, messages: list[Declared]) -> str:
        held = [*self.deltas, *(one for one in self.states if self.synchronous or self.chance(0.2))]
        names = self.known(held, *(("id", "edge") if self.chance(0.5) else ("id",)), globals=self.chance(0.3))
        if self.synchronous and self.chance(0.25):
            names |= {f"target_{one.name}": one.family for one in self.states}
        return self.text_of("send", [self.sent(one, names) for one in messages])

    def sent(self, message: Declared, names: dict[str, str]) -> str:
        number = message.name.removeprefix("m")
        own = [one for one in self.deltas if one.name == f"new{number}" and self.chance(0.93)]
        own = own or [one for one in self.states if one.name == f"a{number}" and one.family == message.family]
        if not own:
            return self.expression(message.family, names, 2)
        first, extra = own[0].name, self.expression(message.family, names, 1)
        if message.merge in COUNTING and not self.synchronous:  # a message that depends on nothing else is refused
            extra = self.literal(message.family)
        if message.family == "bool":
            value = self.pick(first, first, f"({first} and {extra})", extra)
        else:
            value = self.pick(first, first, first, f"({first} + 1)", f"({first} + {extra})", f"(2 * {first})", extra)
            value = f"min({value}, {extra})" if self.chance(0.05) else value
        if self.chance(0.2):
            test = self.expression("bool", names, 1)
            value = f"({value} if {test} else {self.pick(message.identity, self.literal(message.family))})"
        return value if message.name != "w" else f"abs({value})"

    def apply(self, messages: list[Declared]) -> str:
        names = self.known([*self.states, *messages], "id", globals=self.chance(0.3))
        values = [self.applied(one, messages, names) for one in self.states]
        for delta in self.deltas:
            own = [one.name for one in messages if one.name == f"m{delta.name[3:]}" and one.dtype == delta.dtype]
            value = own[0] if own else self.expression(delta.family, names, 1)
            values.append(value if self.chance(0.9) else self.expression(delta.family, names, 1))
        return self.text_of("apply", values)

    def applied(self, state: Declared, messages: list[Declared], names: dict[str, str]) -> str:
        own = [one for one in messages if one.name == f"m{state.name[1:]}" and one.family == state.family]
        own = own or [one for one in messages if one.family == state.family and self.synchronous]
        if not own or state.name == "b":
            if state.family == "bool":
                return self.pick(f"({state.name} or {self.expression('bool', names, 1)})", state.name)
            known = self.expression(state.family, names, 1)
            return self.pick(state.name, f"max({state.name}, {known})", self.expression(state.family, names, 2))
        if self.chance(0.3 if self.synchronous else 0.1):
            return self.pick(own[0].name, self.expression(state.family, names, 2))
        word = FITTING.get(own[0].merge, "max")
        fits = (
            f"{word}({state.name}, {own[0].name})" if word in ("min", "max") else f"({state.name} {word} {own[0].name})"
        )
        return fits

    def stop(self) -> str:
        tests = [f"(round >= {self.rng.randrange(1, 6)})"]
        names = {one.name: one.family for one, _ in self.globals} | {"round": "int", "vertices": "int", "p": "int"}
        return self.text_of("stop", [self.pick(*tests, f"({tests[0]} or {self.expression('bool', names, 2)})")])

    def result(self, number: int) -> str:
        dtype = self.pick("int", "float", "bool")
        field = Declared(f"r{number}", dtype, "", bool(self.width) and self.chance(0.3))
        known = self.known(self.states, "id", globals=self.chance(0.5), before=self.chance(0.3), late=True)
        shape = f", shape={self.width}" if field.vector else ""
        return f"@dg.Result({dtype}{shape})\n{self.function(field.name, known, [field])}"

    def function(self, name: str, names: dict[str, str], fields: list[Declared]) -> str:
        return self.text_of(name, [self.expression(one.family, names, 2) for one in fields])

    def text_of(self, name: str, values: list[str]) -> str:
        """A function that returns some values, in one of several ways to write it."""
        known = dict.fromkeys(word for value in values for word in NAMES.findall(value))
        parameters = ", ".join(word for word in known if word not in NOT_READ)
        lines, returned = [], ", ".join(values)
        if self.chance(0.15):
            lines.append(f"    x = {values[0]}")
            returned = ", ".join(["x", *values[1:]])
        if self.chance(0.1) and "id" in known:
            lines += ["    if id > 1:", f"        return {returned}", f"    return {returned}"]
        else:
            lines.append(f"    return {returned}")
        return "\n".join([f"def {name}({parameters}):", *lines])

    # -- expressions ---------------------------------------------------------------------------------------------------

    def known(
        self, fields: list[Declared], *kinds: str, globals: bool = False, before: bool = False, late: bool = False
    ) -> dict[str, str]:
        """What a function may read, and of which family it is. A `late` function sees the last round, which is one
        earlier or later where engines may leave out messages that change nothing."""
        names = {one.name: one.family for one in fields}
        late = late and not self.synchronous and not any(one.merge in COUNTING for one in self.phases[0])
        if before and not late:
            names |= {f"{one.name}_before": one.family for one in self.states}
        more = {}
        for field in fields:
            if field.vector and field.family != "bool" and not field.dtype.startswith("'"):
                more |= {f"dg.total({field.name})": field.family, f"dg.dot({field.name}, {field.name})": field.family}
        if "id" in kinds:
            more |= {"id": "int", "degree": "int", "height": "int", "p": "int", "vertices": "int", "first": "int"}
            more |= {"component": "int"} if self.width else {}
        if "edge" in kinds:
            more |= {"weight": "float", "toll": "int"}
            more |= {f"target_{one}": "int" for one in ("id", "degree", "height")}
        names |= {one: more[one] for one in more if self.chance(0.25)}
        if globals:
            names |= {one.name: one.family for one, _ in self.globals}
        if self.rounds and not late and self.chance(0.3):
            names["round"] = "int"
        if self.draws and not late and self.chance(0.5):
            word = "random" if self.chance(0.6) else "vertex_random"
            names |= {self.rng.choice(texts).format(word): family for family, texts in DRAWS.items()}
        return names

    def expression(self, family: str, names: dict[str, str], depth: int) -> str:
        known = [name for name, one in names.items() if one == family]
        if depth == 0 or self.chance(0.3):
            return self.rng.choice(known) if known and self.chance(0.85) else self.literal(family)
        if family == "bool":
            number = self.pick("int", "float" if "float" in names.values() else "int")
            a, b = (self.expression(number, names, depth - 1) for _ in range(2))
            p, q = (self.expression("bool", names, depth - 1) for _ in range(2))
            return self.pick(f"({a} > {b})", f"({a} == {b})", f"({p} and {q})", f"({p} or {q})", f"(not {p})")
        a, b = (self.expression(family, names, depth - 1) for _ in range(2))
        test = self.expression("bool", names, depth - 1)
        values = [f"({a} + {b})", f"({a} - {b})", f"min({a}, {b})", f"max({a}, {b})", f"({a} if {test} else {b})"]
        if family == "int":
            values += [f"halved({a})", f"({a} * {b})"]
        return self.rng.choice(values)

    def literal(self, family: str) -> str:
        if family == "bool":
            return self.pick("True", "False")
        return str(self.pick(0, 1, 1, 2, 3, 5)) + (".0" if family == "float" else "")

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *values):
        return self.rng.choice(values)


NOT_READ = {
    "dg",
    "min",
    "max",
    "abs",
    "int",
    "if",
    "else",
    "and",
    "or",
    "not",
    "True",
    "False",
    "inf",
    "halved",
    "total",
}
NOT_READ |= {"dot", "UNREACHED"}


def made(text: str, name: str) -> dg.VertexProgram:
    """An instance of the program in a text."""
    place = f"<program {name}>"
    linecache.cache[place] = len(text), None, text.splitlines(keepends=True), place
    names = {"__name__": "programs_of_the_fuzzer"}
    exec(compile(text, place, "exec"), names)
    return names["P"]()
