"""Vertex programs: what a vertex holds and sends, how messages merge, and how an inbox changes the vertex.

`VertexProgram` says how to write one. `reference.py` defines the meaning of a program in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import EllipsisType
from typing import Any, ClassVar

import numpy as np

from dgraph.arguments import cast_to, check_integer
from dgraph.errors import OptionError, ProgramError
from dgraph.phrases.suggestions import suggestion
from dgraph.programs.declarations import check_merges, check_names, check_phase, check_spelling, functions_of
from dgraph.programs.monoid import NONE, SUM, Merge, Monoid, Neighbourhood

ADMITTED_DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64")


class vertex:
    """The dtype of fields that hold vertices.

    Programs see the number of a vertex, from 0 to n - 1 in ascending order of ids. Parameters and results hold ids.

    Examples
    --------
    >>> dg.Parameter(dg.vertex)
    Parameter(vertex)
    """


class Field:
    """A declared name with a dtype. `shape` is the length of a vector, or the name of a parameter with this length."""

    def __init__(self, dtype: Any, *, shape: int | str | EllipsisType | None = None):
        self.name, self.shape, self.is_vertex = "", shape, dtype is vertex
        admitted = (*([] if isinstance(self, EdgeColumn) else ["vertex"]), *ADMITTED_DTYPES)
        with suppress(TypeError):  # if it is not a dtype, an error follows below
            self.dtype = np.dtype(np.int64 if dtype is vertex else dtype)
        if ("vertex" if self.is_vertex else str(vars(self).get("dtype"))) not in admitted:
            raise ProgramError(
                f"{dtype!r} is not a type for {type(self).__name__}; choose one of {', '.join(admitted)}"
            )

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name  # `check_names` rejects a second name

    def __repr__(self) -> str:
        shape = "" if self.shape is None else f", shape={self.shape!r}"
        return f"{type(self).__name__}({'vertex' if self.is_vertex else self.dtype.name}{shape})"


class State(Field):
    """A value that each vertex holds.

    Parameters
    ----------
    dtype : dtype or dgraph.vertex
        One of bool, uint8, int32, int64, float32, float64 and `dgraph.vertex`.
    start : scalar, default 0
        The value before the first round.
    shape : int or str, optional
        Length of a vector, or the name of a vector parameter with this length. By default the value is a scalar.

    Examples
    --------
    >>> dg.State(float, start=np.inf)
    State(float64)
    """

    def __init__(self, dtype: Any, start: Any = 0, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        self.start = cast_to(self.dtype, "start", start, is_vertex=self.is_vertex)


class Delta(State):
    """A state that is reset to `start` before every firing.

    It holds what one firing adds: if `apply` returns a value other than `start`, the vertex sends.

    Parameters
    ----------
    dtype : dtype or dgraph.vertex
        One of bool, uint8, int32, int64, float32, float64 and `dgraph.vertex`.
    start : scalar, default 0
        The value before every firing.
    shape : int or str, optional
        Length of a vector, or the name of a vector parameter with this length. By default the value is a scalar.

    Examples
    --------
    >>> dg.Delta(float)
    Delta(float64)
    """


class Message(Field):
    """A field of messages, and how its values merge.

    As a shorthand, a program may set ``merge = dgraph.MIN`` instead of declaring a `Message`. It then has a field
    ``message`` with the dtype of its first `State`.

    Parameters
    ----------
    dtype : dtype or dgraph.vertex
        One of bool, uint8, int32, int64, float32, float64 and `dgraph.vertex`.
    merge : Monoid or Neighbourhood
        `MIN`, `MAX`, `SUM`, `PRODUCT`, `AND`, `OR`, `MOST_FREQUENT`, `HEAVIEST`, `CHOOSE`, `H_INDEX`, or your own
        `Monoid`.
    shape : int or str, optional
        Length of a vector, or the name of a vector parameter with this length. By default the value is a scalar.

    Examples
    --------
    >>> dg.Message(int, dg.SUM).identity
    0
    """

    def __init__(self, dtype: Any, merge: Merge, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        if not isinstance(merge, Monoid | Neighbourhood):
            raise ProgramError(
                f"expected a merge, such as MIN, MAX, SUM, PRODUCT, AND, OR or your own Monoid, got {merge!r}"
            )
        self.merge = merge
        self.identity = merge.identity(self.dtype)


class Parameter(Field):
    """A value that is passed to the program. Changing it compiles no new kernels.

    Parameters
    ----------
    dtype : dtype or dgraph.vertex
        One of bool, uint8, int32, int64, float32, float64 and `dgraph.vertex`. For a vertex, pass its id.
    default : optional
        The default value. Without a default, the parameter is required.
    shape : int, str or ..., optional
        Length of a vector, or the name of a vector parameter with this length; ``...`` accepts any length. By default
        the value is a scalar.

    Examples
    --------
    >>> dg.Parameter(float, 0.85)
    Parameter(float64)
    """

    def __init__(self, dtype: Any, default: Any = None, *, shape: int | str | EllipsisType | None = None):
        super().__init__(dtype, shape=shape)
        self.default = default


class EdgeColumn(Field):
    """A column of the edges that `send` reads. `weight` is float64 and need not be declared.

    Parameters
    ----------
    dtype : dtype
        One of bool, uint8, int32, int64, float32 and float64.
    shape : optional
        Not supported: edge columns are scalars.

    Examples
    --------
    >>> dg.EdgeColumn("int32")
    EdgeColumn(int32)
    """


class VertexColumn(Field):
    """A column of the vertices that functions read.

    Parameters
    ----------
    dtype : dtype or dgraph.vertex
        One of bool, uint8, int32, int64, float32, float64 and `dgraph.vertex`.
    missing : scalar, optional
        Value for vertices that have none. With `missing`, the graph need not have the column. By default the column is
        required, and missing values are 0, or `dgraph.NONE` for vertices.
    shape : int or str, optional
        Length of a vector, or the name of a vector parameter with this length. By default the value is a scalar.

    Examples
    --------
    >>> dg.VertexColumn(float, missing=1.0).missing
    1.0
    """

    def __init__(self, dtype: Any, missing: Any = None, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        self.optional = missing is not None  # whether the graph may lack the column
        value = (NONE if self.is_vertex else 0) if missing is None else missing
        self.missing = cast_to(self.dtype, "missing", value, is_vertex=self.is_vertex)


class Decorator(Field):
    """A field that decorates the function which computes it."""

    function: Callable | None = None

    def __call__(self, function: Callable) -> Any:
        self.function = function
        return self


class Global(Decorator):
    """Decorator of a function whose values are folded over all vertices after each round.

    Functions of the program may read the folded value by its name, as it was at the end of the previous round. The
    decorated function may read `rank_before` for the value of `rank` before the round.

    Parameters
    ----------
    dtype : dtype or dgraph.vertex
        One of bool, uint8, int32, int64, float32, float64 and `dgraph.vertex`.
    merge : Monoid
        How values are folded, such as `SUM`.
    shape : int or str, optional
        With a shape, the components of vectors are folded separately; without, into one value.

    Examples
    --------
    >>> class Spread(dg.VertexProgram):
    ...     kind = "synchronous"
    ...     level = dg.State(int, start=2)
    ...     merge = dg.MAX
    ...     @dg.Global(int, dg.SUM)
    ...     def total(level):
    ...         return level
    ...     def send(level):
    ...         return level
    ...     def apply(level, message):
    ...         return max(level, message)
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})
    >>> dg.run(G, Spread()).totals["total"]
    6
    """

    def __init__(self, dtype: Any, merge: Monoid, *, shape: int | str | None = None):
        super().__init__(dtype, shape=shape)
        if not isinstance(merge, Monoid):
            raise ProgramError(
                f"{merge!r} cannot fold a global value; expected MIN, MAX, SUM, PRODUCT, AND, OR or your own Monoid"
            )
        if self.dtype == np.uint8 and merge is SUM:
            raise ProgramError("a sum of uint8 over all vertices would wrap around at 256: write Global(int, SUM)")
        self.merge = merge
        self.identity = merge.identity(self.dtype)


class Result(Decorator):
    """Decorator of a function of a vertex whose values become a column of the result.

    If a program declares no `Result`, the columns of the result are the states.

    Parameters
    ----------
    dtype : dtype or dgraph.vertex
        One of bool, uint8, int32, int64, float32, float64 and `dgraph.vertex`.
    shape : int or str, optional
        Length of a vector, or the name of a vector parameter with this length. By default the value is a scalar.

    Examples
    --------
    >>> class Reached(dg.VertexProgram):
    ...     hops = dg.State(int, start=dg.UNREACHED)
    ...     source = dg.Parameter(dg.vertex)
    ...     merge = dg.MIN
    ...     @dg.Result(bool)
    ...     def reached(hops):
    ...         return hops < dg.UNREACHED
    ...     def seed(id, source):
    ...         return 0 if id == source else dg.UNREACHED
    ...     def send(hops):
    ...         return hops + 1
    ...     def apply(hops, message):
    ...         return min(hops, message)
    >>> G = dg.Graph.from_edges({"src": [0, 2], "dst": [1, 1]})
    >>> dg.run(G, Reached(source=0)).compute()["reached"].tolist()
    [True, True, False]
    """


class Phase:
    """One of several phases of a synchronous program, with its own messages, `send` and `apply`.

    Rounds run the phases in turn. A phase is a class inside the program; `merge` and `along` default to the program's.

    Examples
    --------
    >>> class TwoSteps(dg.VertexProgram):
    ...     kind = "synchronous"
    ...     level = dg.State(int, start=1)
    ...     class Add(dg.Phase):
    ...         merge = dg.SUM
    ...         def send(level):
    ...             return level
    ...         def apply(level, message):
    ...             return level + message
    ...     class Spread(dg.Phase):
    ...         merge = dg.MAX
    ...         def send(level):
    ...             return level
    ...         def apply(level, message):
    ...             return max(level, message)
    ...     def stop(round):
    ...         return round == 2
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [2, 2, 0]})
    >>> dg.run(G, TwoSteps()).compute()["level"].tolist()
    [3, 1, 3]
    """

    merge: ClassVar[Merge | None] = None
    along: ClassVar[str | None] = None
    name: ClassVar[str] = ""
    messages: ClassVar[tuple[Message, ...]] = ()
    functions: ClassVar[dict[str, Callable]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Message)}
        check_names(cls.__name__, Phase, declared)
        check_spelling(cls.__name__, vars(cls))
        cls.messages = tuple(declared.values())
        cls.name = cls.__name__.lower().replace("_", "")  # kernel names are split at "_"


class VertexProgram:
    """The base class of vertex programs.

    Class attributes declare fields (`State`, `Parameter`, ...) and options; functions without ``self`` define what
    happens. The names of their parameters say what they read; they return a scalar, or a tuple in the order of
    declaration.

    * ``kind``: with ``"accumulative"`` (the default) each change is sent once, messages merge in any order, and `seed`
      is required. With ``"synchronous"`` every vertex gathers from all its in-neighbours in every round.
    * ``along``: messages travel along edges (``"out"``, the default), against them (``"in"``) or both (``"both"``).
    * ``merge``: how messages combine, such as `dgraph.MIN`, unless the program declares a `Message`.
    * ``start(...)`` returns every State before the first round; by default each field's own `start`.
    * ``seed(...)`` returns the first message to each vertex; the merge's identity means no message.
    * ``send(...)`` returns the message along an edge, from the fields of its source.
    * ``apply(...)`` returns every State and Delta, given the merged message.
    * ``stop(...)`` returns True to end the run after this round (with several phases, after the last one). If it reads
      vectors, all components must return True.

    Parameters
    ----------
    **values
        Values of the program's parameters.

    Raises
    ------
    ProgramError
        If a class declares a field of an unsupported type, has no `State` or merge, or misspells a function.
    OptionError
        If a parameter is unknown or missing, or its value is of the wrong type.

    Examples
    --------
    >>> class Hops(dg.VertexProgram):
    ...     hops = dg.State(float, start=np.inf)
    ...     source = dg.Parameter(dg.vertex)
    ...     merge = dg.MIN
    ...     def seed(id, source):
    ...         return 0.0 if id == source else float("inf")
    ...     def send(hops):
    ...         return hops + 1
    ...     def apply(hops, message):
    ...         return min(hops, message)
    >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
    >>> dg.run(G, Hops(source="a")).compute()
      vertex  hops
    0      a   0.0
    1      b   1.0
    2      c   2.0
    """

    kind: ClassVar[str] = "accumulative"
    along: ClassVar[str] = "out"
    merge: ClassVar[Merge | None] = None
    operation: ClassVar[str] = ""  # the operation that runs this program, for errors
    solver: ClassVar[Any] = None  # a dgraph.solvers.solver.Solver for graphs of one partition
    diffuse: ClassVar[Any] = None  # how its sums diffuse without rounds: dgraph.engines.local_methods.diffusion
    fields: ClassVar[dict[str, Field]] = {}  # in order of declaration
    functions: ClassVar[dict[str, Callable]] = {}  # start, seed, stop
    phases: ClassVar[tuple[type[Phase], ...]] = ()  # without any, one phase with the program's functions

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members = {name: value for ancestor in reversed(cls.__mro__) for name, value in vars(ancestor).items()}
        cls.fields = {name: value for name, value in members.items() if isinstance(value, Field)}
        columns = [name for name, value in cls.fields.items() if isinstance(value, State | Result)]
        check_names(cls.__name__, VertexProgram, cls.fields, columns)
        check_spelling(cls.__name__, vars(cls))
        if bare := [f for f in cls.fields.values() if isinstance(f, Decorator) and f.function is None]:
            kind = type(bare[0]).__name__
            raise ProgramError(
                f"{cls.__name__}: {bare[0].name} is computed by a function; write @{kind}(...) above its def"
            )
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
                has = f"its parameters are {', '.join(declared)}" if declared else "it has none"
                raise OptionError(f"{self.title} has no parameter {name!r}; {suggestion(name, declared) or has}")
        self.values: dict[str, Any] = {}
        for name, parameter in declared.items():
            value = values.get(name, parameter.default)
            if value is None:
                raise OptionError(f"{self.title} needs a value for its parameter {name!r}")
            kind = {"is_vertex": parameter.is_vertex, "is_vector": parameter.shape is not None}
            self.values[name] = cast_to(parameter.dtype, f"{self.title}: {name}", value, **kind)
        self.vector_length = self._vector_length()

    @property
    def title(self) -> str:
        """The name of the program in error messages: the operation's name or, failing that, the class's name."""
        return self.operation or type(self).__name__

    def _vector_length(self) -> int:
        """The length of the program's vectors, or 0 if it has none."""
        declared = [*self.fields.values(), *(message for phase in self.phases for message in phase.messages)]
        lengths = {field.name: self._length(field) for field in declared if field.shape is not None}
        lengths |= {f"{name}=": len(value) for name, value in self.values.items() if isinstance(value, np.ndarray)}
        if len(set(lengths.values())) > 1:
            raise OptionError(f"{type(self).__name__}: all vectors of a program must have one length, not {lengths}")
        return next(iter(lengths.values()), 0)

    def _length(self, field: Field) -> int:
        shape: Any = field.shape
        if isinstance(shape, str):
            if shape not in self.values:
                raise ProgramError(f"{type(self).__name__}: shape={shape!r} is not the name of a parameter")
            shape = self.values[shape]
        elif shape is Ellipsis:  # a parameter as long as its value
            shape = self.values[field.name]
        length = len(shape) if isinstance(shape, np.ndarray) else shape
        return check_integer(f"{type(self).__name__}: the length of {field.name}", length)

    def of(self, kind: type) -> list[Any]:
        """The declared fields of one class, as in `program.of(State)`."""
        return [field for field in self.fields.values() if isinstance(field, kind)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.values.items())})"


def _complete_phase(program: type[VertexProgram], phase: type[Phase]) -> None:
    """Set what the phase inherits from the program, and check the phase."""
    title = f"{program.__name__}.{phase.name}".rstrip(".")
    phase.along = phase.along or program.along
    states = [value for value in program.fields.values() if isinstance(value, State)]
    if not states:
        raise ProgramError(
            f"{title} declares no State, which says what a vertex holds; write, for example, dist = State(float64)"
        )
    if not phase.messages:
        if (merge := phase.merge or program.merge) is None:
            raise ProgramError(f"{title} has no merge; write merge = MIN (or MAX, SUM, ...), or declare a Message")
        message = Message(vertex if states[0].is_vertex else states[0].dtype, merge, shape=states[0].shape)  # type: ignore[arg-type]
        message.name = "message"
        phase.messages = (message,)
    phase.functions = functions_of(phase, title, states)
    check_phase(program, phase, title)
