"""The vertex programs of Brandes' algorithm (2001), which count shortest paths from several sources, and add up how
much they depend on each vertex."""

from __future__ import annotations

from numpy import float64, inf, int32, int64

from dgraph.programs.monoid import MAX, SUM
from dgraph.programs.program import Delta, Global, Message, Parameter, State, VertexColumn, VertexProgram, vertex

NEVER = 2**31 - 1  # the distance in edges of what is not reached


class PathsFromEach(VertexProgram):
    """The distance from each source in edges, and the number of shortest paths. All of them arrive in one round."""

    operation = "betweenness"
    distance = State(int32, start=NEVER, shape="sources")
    paths = State(float64, shape="sources")
    fresh = Delta(float64, shape="sources")
    message = Message(float64, SUM, shape="sources")
    sources = Parameter(vertex, shape=...)

    def seed(id, sources):
        return 1.0 if id == sources else 0.0

    def send(fresh):
        return fresh

    def apply(distance, paths, message, round):
        if message > 0 and distance == NEVER:
            return round - 1, message, message
        return distance, paths, 0.0

    @Global(float64, MAX)
    def most(paths):
        return paths

    @Global(int64, MAX)
    def deepest(distance):
        return distance if distance < NEVER else 0

    @Global(int64, SUM, shape="sources")
    def reached(distance):
        return 1 if distance < NEVER else 0


class DependenciesByLevel(VertexProgram):
    """How much the paths from each source depend on a vertex. In the first round the vertices farthest from a source
    tell those before them, in the next these do."""

    operation = "betweenness"
    kind = "synchronous"
    along = "in"
    share = State(float64, shape="sources")
    message = Message(float64, SUM, shape="sources")
    known = VertexColumn(int32, shape="sources")
    paths = VertexColumn(float64, shape="sources")
    sources = Parameter(vertex, shape=...)
    levels = Parameter(int64)

    def send(share, paths, known, round, levels):
        return (1 + share) / paths if known == levels - round + 1 else 0.0

    def apply(share, message, paths, known, round, levels):
        return paths * message if known == levels - round and known > 0 else share

    def stop(round, levels):
        return round >= levels - 1


class PathCounts(VertexProgram):
    """The number of shortest paths from each source by weights, from known distances. A vertex whose predecessors have
    all their paths has all of its own."""

    operation = "betweenness"
    kind = "synchronous"
    paths = State(float64, shape="sources")
    message = Message(float64, SUM, shape="sources")
    known = VertexColumn(float64, shape="sources")
    sources = Parameter(vertex, shape=...)

    def start(id, sources):
        return 1.0 if id == sources else 0.0

    def send(paths, known, target_known, weight):
        return paths if known + weight == target_known and known < target_known else 0.0

    def apply(message, id, sources):
        return 1.0 if id == sources else message

    @Global(float64, MAX)
    def most(paths):
        return paths

    @Global(int64, SUM, shape="sources")
    def reached(known):
        return 1 if known < inf else 0


class Dependencies(VertexProgram):
    """The same as `DependenciesByLevel` by weights: a vertex hears from its successors until nothing changes."""

    operation = "betweenness"
    kind = "synchronous"
    along = "in"
    share = State(float64, shape="sources")
    message = Message(float64, SUM, shape="sources")
    known = VertexColumn(float64, shape="sources")
    paths = VertexColumn(float64, shape="sources")
    sources = Parameter(vertex, shape=...)

    def send(share, paths, known, target_known, weight):
        tight = target_known + weight == known and target_known < known
        return (1 + share) / paths if paths > 0 and tight else 0.0

    def apply(message, paths, id, sources):
        return 0.0 if id == sources else paths * message
