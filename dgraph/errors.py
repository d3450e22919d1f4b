"""The exceptions that dgraph raises on a user's input, in one tree.

DgraphError
├── InputError                 the input cannot be used (a subclass of ValueError)
│   ├── FileError              a file cannot be read: its path, line, and the text found there
│   ├── ColumnError            a column is missing, or has an unsupported type
│   ├── IdError                a vertex id is missing, not an integer, beyond 64 bits, or unknown
│   ├── WeightError            a weight is missing, not a number, or not finite where that matters
│   ├── OptionError            an argument has a value that is not allowed
│   └── DeviceError            the requested device is not available
├── ProgramError               a vertex program cannot be compiled, or breaks a law
├── StorageError               a saved graph is damaged, changed, or of another version
├── AnswerError                a result is not what its operation defines
└── RunError                   a run could not finish: a message was lost, it was stopped, or it seems endless
    ├── LostError              a worker left with data that cannot be computed again
    ├── LostChainError         so did one with values that only a whole operation can compute again
    ├── SumError               a sum of a program's messages does not fit into its type
    ├── BoundsError            a number is only known by bounds, because the work was limited
    └── RoomError              there is not enough memory, on the workers or in this process

Each message names the value at fault and the remedy. Warnings accompany a result that is returned all the same:
UnsettledWarning, UnsentWarning, UnweightedWarning, MissingEdgesWarning, EndlessWarning, SilentWorkerWarning.
"""

from __future__ import annotations

import functools

from dgraph.phrases.phrases import format_count
from dgraph.phrases.printable import message


class DgraphError(Exception):
    """The base class of all errors that dgraph raises in response to a user's input.

    Messages quote ids, names and text from files. Control characters in them are escaped.

    Examples
    --------
    >>> try:
    ...     dg.Graph.from_edges({"src": [0, 1]})
    ... except dg.errors.DgraphError as error:
    ...     print(error)
    the edges have no column 'dst'; they have 'src'. Name the columns with source=, destination= and weight=
    """

    def __str__(self) -> str:
        return message(super().__str__())


class InputError(DgraphError, ValueError):
    """The input cannot be used.

    This is a subclass of ValueError.

    Examples
    --------
    >>> dg.to_networkx("edges.csv")
    Traceback (most recent call last):
        ...
    dgraph.errors.InputError: to_networkx expects a dgraph.Graph, got str; make one with Graph.from_edges (frames), ...
    """


class FileError(InputError):
    """A file cannot be read in its format, or cannot be written.

    Attributes
    ----------
    path : object
        The file.
    line : int or None
        The number of the line, from 1.
    problem : str
        What is wrong.
    remedy : str or None
        What to do.

    Examples
    --------
    >>> try:
    ...     dg.read_edges("missing.csv")
    ... except dg.errors.FileError as error:
    ...     print(error.problem)
    there is no such file
    """

    def __init__(self, problem: str, *, path: object, line: int | None = None, remedy: str | None = None):
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}" + (f" ({remedy})" if remedy else ""))
        self.path, self.line, self.problem, self.remedy = path, line, problem, remedy

    def __reduce__(self):
        return functools.partial(type(self), path=self.path, line=self.line, remedy=self.remedy), (self.problem,)


class ColumnError(InputError):
    """A column is missing, or has an unsupported type.

    Examples
    --------
    >>> dg.pagerank(dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}), weighted=True)
    Traceback (most recent call last):
        ...
    dgraph.errors.ColumnError: pagerank needs weights, but the graph has none; name their column with weight= ...
    """


class IdError(InputError):
    """A vertex id is missing, not an integer, beyond 64 bits, or not in the graph.

    Examples
    --------
    >>> dg.bfs(dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}), source=9)
    Traceback (most recent call last):
        ...
    dgraph.errors.IdError: the graph has no vertex 9; it has 3 vertices, the first is 0
    """


class WeightError(InputError):
    """A weight is missing, not a number, or not finite where that matters.

    Examples
    --------
    >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "weight": [2.5, np.nan]})
    Traceback (most recent call last):
        ...
    dgraph.errors.WeightError: column 'weight', row 1: the weight is missing (nan); fill or drop such rows, or ...
    """


class OptionError(InputError):
    """An argument has a value that is not allowed.

    Examples
    --------
    >>> dg.pagerank(dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}), alpha=1.5)
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: alpha=1.5 must be a number from 0 to 1
    """


class DeviceError(InputError):
    """The requested device is not available, or lacks a capability.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    >>> try:  # GPUs are experimental
    ...     result = dg.wcc(G, device="cuda")
    ... except dg.errors.DeviceError:
    ...     result = dg.wcc(G, device="cpu")
    """


class ProgramError(DgraphError):
    """A vertex program cannot be compiled, or breaks a law.

    Examples
    --------
    >>> dg.State("str")
    Traceback (most recent call last):
        ...
    dgraph.errors.ProgramError: 'str' is not a type for State; choose one of vertex, bool, ...
    """

    def __str__(self) -> str:  # may quote lines of the program
        return message(Exception.__str__(self), keep="\n\t")


class StorageError(DgraphError):
    """A saved graph is damaged, was changed, or has a version that this release cannot read.

    Examples
    --------
    >>> dg.open_graph("missing")
    Traceback (most recent call last):
        ...
    dgraph.errors.StorageError: ... is not a saved graph: manifest.json is missing
    """


class AnswerError(DgraphError):
    """A result is not what its operation defines.

    Examples
    --------
    >>> from dgraph.testing.verify import verify
    >>> verify("bfs", dg.grid(rows=1, cols=2, removed=0), {"distance": np.array([0.0, 2.0])}, source=0)
    Traceback (most recent call last):
        ...
    dgraph.errors.AnswerError: ...
    """


class RunError(DgraphError):
    """A run could not finish.

    Examples
    --------
    >>> class Count(dg.VertexProgram):
    ...     kind = "synchronous"
    ...     rounds = dg.State(int)
    ...     merge = dg.SUM
    ...     def send():
    ...         return 1
    ...     def apply(rounds):
    ...         return rounds + 1
    >>> dg.reference.run(Count(), [(0, 1)], 2, max_rounds=5)
    Traceback (most recent call last):
        ...
    dgraph.errors.RunError: Count has not ended after 5 rounds (set max_rounds=, or give it a `stop`)
    """


class LostError(RunError):
    """Data that cannot be recomputed was lost with a worker.

    Run the operation again on the remaining workers.
    """


class LostChainError(RunError):
    """Values of a result in the middle of a chain of runs were lost with a worker.

    Only the operation that made them can compute them again, from its beginning: run it again.
    """


class SumError(RunError):
    """The sum of the messages to a vertex does not fit into the integer type of the message.

    Attributes
    ----------
    program : str
        The name of the program.
    number : int
        The number of the vertex whose sum does not fit.
    vertex : object
        The id of this vertex; None if it is not known.

    Examples
    --------
    >>> class Large(dg.VertexProgram):
    ...     kind = "synchronous"
    ...     total = dg.State(int)
    ...     merge = dg.SUM
    ...     def send():
    ...         return 2**62
    ...     def apply(message):
    ...         return message
    ...     def stop(round):
    ...         return round == 1
    >>> try:
    ...     dg.run(dg.Graph.from_edges({"src": ["a", "b"], "dst": ["c", "c"]}), Large())
    ... except dg.errors.SumError as error:
    ...     print(error.vertex)
    c
    """

    def __init__(self, program: str, number: int, vertex: object = None):
        super().__init__(program, number, vertex)
        self.program, self.number, self.vertex = program, number, vertex

    def __str__(self) -> str:
        which = f"vertex number {self.number}" if self.vertex is None else f"vertex {self.vertex!r}"
        return (
            f"{self.program}: the sum of the messages to {which} does not fit into its type; declare the message as a "
            "float, dgraph.Message(float, dgraph.SUM), for a rounded sum, or give it a merge of your own"
        )


class BoundsError(RunError):
    """A number could not be told exactly within the work that was allowed; only its bounds are known.

    Attributes
    ----------
    lower, upper : float
        The bounds.

    Examples
    --------
    >>> try:
    ...     dg.diameter(dg.grid(rows=9, cols=9, removed=0), max_searches=1)
    ... except dg.errors.BoundsError as error:
    ...     print(error.lower, error.upper)
    14.0 28.0
    """

    def __init__(self, what: str, lower: float, upper: float, searches: int):
        super().__init__(what, lower, upper, searches)
        self.what, self.lower, self.upper, self.searches = what, lower, upper, searches

    def __str__(self) -> str:
        return (
            f"after {format_count(self.searches, 'search')}, the {self.what} is only known to be from "
            f"{self.lower:,.0f} to {self.upper:,.0f}; increase max_searches="
        )


class RoomError(RunError):
    """There is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> dg.rmat(scale=40)
    Traceback (most recent call last):
        ...
    dgraph.errors.RoomError: 17,592,186,044,416 generated edges between 1,099,511,627,776 vertices need about ...
    """


class UnsettledWarning(UserWarning):
    """The iteration stopped at `max_iter`, before the scores were within `tol` of the fixed point.

    Or searches stopped at `max_searches`, before all values were known.

    Examples
    --------
    >>> import warnings
    >>> G = dg.rmat(scale=8, edge_factor=8, seed=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", dg.errors.UnsettledWarning)
    ...     ranks = dg.pagerank(G, max_iter=3)
    """


class EndlessWarning(UserWarning):
    """A run has taken more rounds than there are vertices, or a very long time, and may never end.

    Pass `max_rounds` to `dgraph.run` to limit the number of rounds, or give the program a `stop`.
    """


class UnsentWarning(UserWarning):
    """No vertex sent a message, because what `seed` returns equals the initial state.

    Examples
    --------
    >>> import warnings
    >>> class Hops(dg.VertexProgram):
    ...     hops = dg.State(float)  # 0; start=np.inf would be right
    ...     source = dg.Parameter(dg.vertex)
    ...     merge = dg.MIN
    ...     def seed(id, source):
    ...         return 0.0 if id == source else float("inf")
    ...     def send(hops):
    ...         return hops + 1
    ...     def apply(hops, message):
    ...         return min(hops, message)
    >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = dg.run(G, Hops(source=0))
    >>> [one.category.__name__ for one in caught]
    ['UnsentWarning']
    """


class UnweightedWarning(UserWarning):
    """A graph has no weights, although one of its columns looks like them.

    Examples
    --------
    >>> import warnings
    >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "km": [3.0, 5.0]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     hops = dg.sssp(G, 0)
    >>> [one.category.__name__ for one in caught]
    ['UnweightedWarning']
    """


class MissingEdgesWarning(UserWarning):
    """Some edges that `Graph.updated` should remove are not in the graph.

    Examples
    --------
    >>> import warnings
    >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     H = G.updated(removed={"src": [0, 2], "dst": [1, 0]})
    >>> print(caught[0].message)
    1 edge to remove is not in the graph; the first is in row 1, from 2 to 0
    """


class SilentWorkerWarning(UserWarning):
    """A worker has not answered the scheduler for some time, and the call waits for it."""
