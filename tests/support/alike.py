"""A program whose messages are made of vectors, and merge as whole neighbourhoods."""

from numpy import float64, int64

from dgraph.programs.monoid import MOST_FREQUENT
from dgraph.programs.program import Message, Parameter, State, VertexProgram
from dgraph.programs.syntax import dot


class Alike(VertexProgram):
    """What a vertex has in common with most of its neighbours."""

    kind = "synchronous"
    traits = State(float64, shape=2)
    shared = State(int64)
    message = Message(int64, MOST_FREQUENT)
    turns = Parameter(int64, 3)

    def start(id, component):
        return (id >> component) % 3, 0

    def send(traits, target_traits, component):
        return dot(traits, target_traits) + traits * target_traits + component

    def apply(traits, shared, message, component):
        return (traits + message + component) % 3, message

    def stop(round, turns):
        return round >= turns
