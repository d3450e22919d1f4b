"""A program that reads, of both ends of an edge, what never changes."""

from numpy import float64, int64

from dgraph.programs.monoid import MIN, UNREACHED
from dgraph.programs.program import Parameter, State, VertexColumn, VertexProgram, vertex


class Descent(VertexProgram):
    """Edges on paths from `source`, along those to less of the column `restart`, or to an even number of edges."""

    level = State(int64, start=UNREACHED)
    source = Parameter(vertex)
    restart = VertexColumn(float64)
    merge = MIN

    def seed(id, source):
        return 0 if id == source else UNREACHED

    def send(level, restart, target_restart, target_id, target_degree):
        return level + 1 if target_restart < restart or (target_id + target_degree) % 2 == 0 else UNREACHED

    def apply(level, message):
        return min(level, message)
