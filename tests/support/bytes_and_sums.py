"""Programs of numbers of 8 bits, and of sums over the components of vectors."""

from numpy import float64, int64, uint8

from dgraph.programs.monoid import MAX, MIN, SUM, Monoid
from dgraph.programs.program import Global, Message, Result, State, VertexProgram
from dgraph.programs.syntax import dot, total


def union(a, b):
    return a | b


def size_of(bits):
    count = 0
    while bits > 0:
        count += bits % 2
        bits = bits // 2
    return count


def common(a, b):
    return size_of(a & b)


def later(a, b):
    return 1 if a > b else 0


UNION = Monoid("UNION", union, lambda dtype: 0, idempotent=True)


def plus(a, b):
    return a + b


PLUS = Monoid("PLUS", plus, lambda dtype: 0)  # which, unlike SUM, wraps around


class NearestByte(VertexProgram):
    """The smallest of the bytes that reach a vertex, each less 1 for every edge: it ends at 0."""

    least = State(uint8, start=255)
    message = Message(uint8, MIN)

    def seed(id):
        return 255 if id % 3 else 40 + id

    def send(least):
        return max(least - 1, 0)

    def apply(least, message):
        return min(least, message)


class WrappingSums(VertexProgram):
    """Sums of bytes that wrap around, and what they are compared with."""

    kind = "synchronous"
    level = State(uint8, start=3)
    large = State(int64)
    message = Message(uint8, PLUS)

    def send(level, weight):
        return level * 37 + weight * 8

    def apply(level, large, message):
        return level + message, large + (1 if message > 128 else 0) - message

    def stop(round):
        return round >= 5


class BitSets(VertexProgram):
    """From which of sixteen groups of vertices a vertex can be reached."""

    groups = State(uint8, shape=2)
    message = Message(uint8, UNION, shape=2)

    def seed(id, component):
        return 1 << (id % 8) if id // 8 % 2 == component else 0

    def send(groups):
        return groups

    def apply(groups, message):
        return groups | message

    @Result(int64)
    def count(groups):
        return total(size_of, groups)

    @Result(float64)
    def half(groups):
        return total(common, groups, groups) / 2

    @Result(uint8, shape=2)
    def all_groups(groups):
        return groups


class WrappingBytes(VertexProgram):
    """Bytes that wrap around, and differences of bytes that are negative."""

    kind = "synchronous"
    level = State(uint8, start=250)
    below = State(int64)
    pair = State(int64, shape=3)
    length = State(float64)
    message = Message(uint8, MAX)

    def send(level):
        return level

    def apply(level, below, pair, length, message, component, sum_of_pairs):
        under = below + (1 if level - message < 0 else 0) + (-level) // 4 + sum_of_pairs % 2
        return level + message * 3 - 7, under, pair + component + total(pair), dot(pair, pair) / 2

    @Global(uint8, MAX)
    def highest(level):
        return level

    @Global(int64, SUM)
    def sum_of_pairs(pair, pair_before):
        return total(pair) + total(later, pair, pair_before)

    def stop(round, highest):
        return round >= 4 or highest == 0


EXAMPLES = NearestByte(), WrappingSums(), BitSets(), WrappingBytes()
