"""A vertex program: what a vertex holds, what it sends, how messages merge, and how an inbox changes the vertex.

    class ShortestPaths(VertexProgram):
        dist = State(float64, start=inf)
        source = Parameter(vertex)
        merge = MIN

        def seed(id, source):      return 0.0 if id == source else inf     # the first message
        def send(dist, weight):    return dist + weight                    # along each out-edge when dist changed
        def apply(dist, message):  return min(dist, message)

The functions take no `self`: *their parameters say what they read*, and what they return is a scalar, or a tuple in
the order of declaration. `reference.py` gives the meaning of a program in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import EllipsisType
from typing import Any, ClassVar

import numpy as np

from dgraph.errors import OptionError, ProgramError
from dgraph.options import check_integer, plain
from dgraph.programs.declarations import check_phase, functions_of
from dgraph.programs.kernel_names import check_merges, check_names
from dgraph.programs.monoid import NONE, Merge, Monoid, Neighbourhood

ADMITTED_DTYPES = ("bool", "int32", "int64", "float32", "float64")


class vertex:
    """The dtype of a vertex: its number (0 to n-1, by ascending id) in a program, the user's own id outside."""


class Field:
    """A declared name with a dtype; `shape` is the length of a vector, or the parameter that says it."""

    def __init__(self, dtype: Any, *, shape: int | str | EllipsisType | None = None):
        self.name, self.shape, self.is_vertex = "", shape, dtype is vertex
        admitted = (*([] if isinstance(self, EdgeColumn) else ["vertex"]), *ADMITTED_DTYPES)
        with suppress(TypeError):  # it is none at all
            self.dtype = np.dtype(np.int64 if dtype is vertex else dtype)
        if ("vertex" if self.is_vertex else str(vars(self).get("dtype"))) not in admitted:
            raise ProgramError(f"{dtype!r} is no type for a {type(self).__name__}: take {', '.join(admitted)}")

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name  # `check_names` refuses a second one

    def __repr__(self) -> str:
        shape = "" if self.shape is None else f", shape={self.shape!r}"
        return f"{type(self).__name__}({'vertex' if self.is_vertex else self.dtype.name}{shape})"

    def cast(self, value: Any, what: str = "") -> Any:
        """`value` in this field's dtype, or an OptionError when that would change it."""
        if type(value) in (int, float) and self.shape is None and self.dtype == type(value) and abs(value) < 2**63:
            return value  # the general way takes ten times as long
        value = plain(value)
        array = np.asarray(value)
        ids = "uUO" if self.shape is None else "uUOf"  # ids on both sides of 2^63 become floats
        if self.is_vertex and array.dtype.kind in ids and array.ndim == (self.shape is not None):
            return value if self.shape is None else np.asarray(value, object)  # a graph knows how to number them
        try:
            with np.errstate(invalid="ignore"):  # NaN as a whole number, which is not the same
                cast = array.astype(self.dtype)
            same = bool(np.all((cast == array) | (cast != cast))) or self.dtype.kind == "f"
            same &= array.dtype.kind == "i" or not self.is_vertex  # truth values and floats are no ids
        except (TypeError, ValueError, OverflowError):
            same = False
        if not same or (self.shape is None) != (array.ndim == 0) or array.ndim > 1:
            kind = "vector of " * (self.shape is not None) + ("vertex" if self.is_vertex else self.dtype.name)
            raise OptionError(f"{what or self.name}={value!r}: expected {'an' if kind[0] == 'i' else 'a'} {kind}")
        return cast.item() if self.shape is None else cast


class State(Field):
    """What a vertex holds, one value a vertex. `start` is its value before the first round."""

    def __init__(self, dtype: Any, start: Any = 0, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        self.start = Field(dtype).cast(start, "start")


class Delta(State):
    """What one firing adds: it is `start` again before every firing, so whatever else `apply` returns is sent."""


class Message(Field):
    """A field of a message and its merge. Without any, `merge = MIN` declares `message` like the first State."""

    def __init__(self, dtype: Any, merge: Merge, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        if not isinstance(merge, Monoid | Neighbourhood):
            raise ProgramError(f"{merge!r} is no merge: take MIN, MAX, SUM, PRODUCT, AND, OR, or a Monoid of your own")
        self.merge = merge
        self.identity = merge.identity(self.dtype)


class Parameter(Field):
    """A value given with the program; another value needs no new kernels. `shape=...` takes a vector of any length."""

    def __init__(self, dtype: Any, default: Any = None, *, shape: int | str | EllipsisType | None = None):
        super().__init__(dtype, shape=shape)
        self.default = default


class EdgeColumn(Field):
    """A column of the edges that `send` reads. `weight` needs no declaration; it is a float64."""


class VertexColumn(Field):
    """A column of the vertices; `missing` where there is none: 0, or NONE. If that is said, a graph may be without."""

    def __init__(self, dtype: Any, missing: Any = None, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        self.optional = missing is not None  # whether all vertices may do without
        self.missing = Field(dtype).cast((NONE if self.is_vertex else 0) if missing is None else missing, "missing")


class Decorator(Field):
    """A field that decorates the function which computes it."""

    function: Callable | None = None

    def __call__(self, function: Callable) -> Any:
        self.function = function
        return self


class Global(Decorator):
    """Decorates a function of a vertex: its values over all vertices, folded after each round by a monoid. Components
    of vectors are folded one by one with a `shape`, and all to one value without.

    Every function may read it by its name, and sees the value from the end of the round before. Such a function reads
    `rank_before` for the value of `rank` before that round.
    """

    def __init__(self, dtype: Any, merge: Monoid, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        if not isinstance(merge, Monoid):
            raise ProgramError(f"{merge!r} cannot fold a global value: take MIN, MAX, SUM, PRODUCT, AND, OR")
        self.merge = merge
        self.identity = merge.identity(self.dtype)


class Result(Decorator):
    """Decorates a function of a vertex: a column of the answer. Without any, the columns are the State fields."""


class Phase:
    """One step of a synchronous program of several: its messages, `send` and `apply`; rounds take them in turn."""

    merge: ClassVar[Merge | None] = None
    along: ClassVar[str | None] = None
    name: ClassVar[str] = ""
    messages: ClassVar[tuple[Message, ...]] = ()
    functions: ClassVar[dict[str, Callable]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Message)}
        check_names(cls.__name__, Phase, declared)
        cls.messages = tuple(declared.values())
        cls.name = cls.__name__.lower().replace("_", "")  # so that it ends at the first "_" of a kernel's name


class VertexProgram:
    """The base of programs. Class attributes declare fields; functions without `self` say what happens.

    kind    "accumulative": each change is sent once, messages merge in any order (`laws.py`). Needs `seed`.
            "synchronous": every round, every vertex gathers again from all its in-neighbours.
    along   "out": messages travel along the edges; "in": against them; "both": both ways.
    start   (...) -> every State, before the first round (else each field's own `start`)
    seed    (...) -> the first message to each vertex; the merge's identity is no message
    send    (...) -> the message along one edge, from its source's fields
    apply   (...) -> every State and Delta, after the inbox
    stop    (...) -> True to end the run after this round (of several phases: after the last one); where it reads
            vectors, once all components say so
    """

    kind: ClassVar[str] = "accumulative"
    along: ClassVar[str] = "out"
    merge: ClassVar[Merge | None] = None
    operation: ClassVar[str] = ""  # that a user called to run this program: errors name it
    solver: ClassVar[Any] = None  # an algorithm of its own for a graph of one partition: dgraph.solvers.solver.Solver
    diffuse: ClassVar[Any] = None  # how its sums go on where nobody waits: dgraph.solvers.solver.DiffusionMethod
    fields: ClassVar[dict[str, Field]] = {}  # all declared, in order
    functions: ClassVar[dict[str, Callable]] = {}  # start, seed, stop
    phases: ClassVar[tuple[type[Phase], ...]] = ()  # a program that declares none has one, made of its own functions

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members = {name: value for ancestor in reversed(cls.__mro__) for name, value in vars(ancestor).items()}
        cls.fields = {name: value for name, value in members.items() if isinstance(value, Field)}
        columns = [name for name, value in cls.fields.items() if isinstance(value, State | Result)]
        check_names(cls.__name__, VertexProgram, cls.fields, columns)
        cls.functions = {name: members[name] for name in ("start", "seed", "stop") if name in members}
        nested = [m for m in members.values() if isinstance(m, type) and issubclass(m, Phase) and m is not Phase]
        if not nested:
            nested = [type("Phase", (Phase,), {name: members[name] for name in ("send", "apply") if name in members})]
            nested[0].name, nested[0].messages = "", tuple(f for f in cls.fields.values() if isinstance(f, Message))
        for phase in nested:
            _complete_phase(cls, phase)
        cls.phases = tuple(nested)
        declared = [*cls.fields.values(), *(message for phase in nested for message in phase.messages)]
        check_merges(cls.__name__, nested, [field.merge for field in declared if isinstance(field, Message | Global)])

    def __init__(self, /, **values: Any):
        declared = {f.name: f for f in self.fields.values() if isinstance(f, Parameter)}
        for name in values:
            if name not in declared:
                raise OptionError(f"{self.title} has no parameter {name!r}; it has: {', '.join(declared)}")
        self.values: dict[str, Any] = {}
        for name, parameter in declared.items():
            value = values.get(name, parameter.default)
            if value is None:
                raise OptionError(f"{self.title} needs a value for its parameter {name!r}")
            self.values[name] = parameter.cast(value, f"{self.title}: {name}")
        self.vector_length = self._vector_length()

    @property
    def title(self) -> str:
        """What errors call the program."""
        return self.operation or type(self).__name__

    def _vector_length(self) -> int:
        """The length of the program's vectors, 0 if it has none."""
        declared = [*self.fields.values(), *(message for phase in self.phases for message in phase.messages)]
        lengths = {field.name: self._length(field) for field in declared if field.shape is not None}
        lengths |= {f"{name}=": len(value) for name, value in self.values.items() if isinstance(value, np.ndarray)}
        if len(set(lengths.values())) > 1:
            raise OptionError(f"{type(self).__name__}: vectors of one program have one length, not {lengths}")
        return next(iter(lengths.values()), 0)

    def _length(self, field: Field) -> int:
        shape: Any = field.shape
        if isinstance(shape, str):
            if shape not in self.values:
                raise ProgramError(f"{type(self).__name__}: shape={shape!r} names no parameter")
            shape = self.values[shape]
        elif shape is Ellipsis:  # a parameter, as long as its value
            shape = self.values[field.name]
        length = len(shape) if isinstance(shape, np.ndarray) else shape
        return check_integer(f"{type(self).__name__}: the length of {field.name}", length)

    def of(self, kind: type) -> list[Any]:
        """The declared fields of a class: `program.of(State)`."""
        return [field for field in self.fields.values() if isinstance(field, kind)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.values.items())})"


def _complete_phase(program: type[VertexProgram], phase: type[Phase]) -> None:
    """Fill in what the phase leaves to the program."""
    title = f"{program.__name__}.{phase.name}".rstrip(".")
    phase.along = phase.along or program.along
    states = [value for value in program.fields.values() if isinstance(value, State)]
    if not states:
        raise ProgramError(f"{title} declares no State: say what a vertex holds, as dist = State(float64)")
    if not phase.messages:
        if (merge := phase.merge or program.merge) is None:
            raise ProgramError(f"{title} has no merge: say merge = MIN (or MAX, SUM ...), or declare a Message")
        message = Message(vertex if states[0].is_vertex else states[0].dtype, merge, shape=states[0].shape)  # type: ignore[arg-type]
        message.name = "message"
        phase.messages = (message,)
    phase.functions = functions_of(phase, title, states)
    check_phase(program, phase, title)
