"""Programs that draw a random number for each edge."""

from numpy import float64

from dgraph.programs.monoid import MAX, MIN, MOST_FREQUENT, NONE, SUM
from dgraph.programs.program import EdgeColumn, Message, State, VertexProgram, vertex


class Cascade(VertexProgram):
    """Independent cascade (Kempe, Kleinberg, Tardos, 2003) from four vertices: along each of its edges, in and out, a
    newly active vertex has one chance."""

    active = State(bool)
    merge = MAX
    along = "both"

    def seed(id):
        return id < 4

    def send(active, random):
        return active and random < 0.3

    def apply(active, message):
        return active or message


class Delays(VertexProgram):
    """Fastest ways from two vertices, where each edge and each vertex on the way causes a random delay."""

    arrival = State(float64, start=float("inf"))
    rating = EdgeColumn(float64)
    merge = MIN

    def seed(id):
        return 0.0 if id < 2 else float("inf")

    def send(arrival, weight, rating, random, vertex_random):
        return arrival + weight * random + rating + vertex_random / 8

    def apply(arrival, message):
        return min(arrival, message)


class Noise(VertexProgram):
    """Vectors of noise, against the edges, whatever a vertex holds; and what it has itself drawn."""

    kind = "synchronous"
    heard = State(float64, shape=2)
    drawn = State(float64)
    message = Message(float64, SUM, shape=2)
    along = "in"

    def send(random, component, target_id):
        return random * (1 + component + target_id)

    def apply(heard, message, random, vertex_random):
        return heard / 2 + message + (random - vertex_random), vertex_random

    def stop(round):
        return round == 4


class Rumour(VertexProgram):
    """The most frequent of the labels that get through; half of them do."""

    kind = "synchronous"
    label = State(vertex)
    merge = MOST_FREQUENT
    along = "both"

    def start(id):
        return id % 7

    def send(label, random):
        return label if random < 0.5 else NONE

    def apply(label, message):
        return label if message == NONE else message

    def stop(round):
        return round == 5


EXAMPLES = Cascade(), Delays(), Noise(), Rumour()
