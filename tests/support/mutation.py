"""Changed copies of inputs, from a seed: what fuzzing does where atheris cannot be had, and in the short tests."""

import random
from collections.abc import Iterator, Sequence

TELLING = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"-1",
    b"0",
    b"99999999999999999999",
    b"nan",
    b"1e999",
    b"\n",
    b'"',
    b" ",
    b"\r",
    b",",
)
LONGEST = 4096  # bytes


def inputs(seeds: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """The seeds, then copies of them with a few changes each."""
    yield from seeds
    source = random.Random(seed)
    for _ in range(count - len(seeds)):
        data = bytearray(source.choice(seeds))
        for _ in range(source.choice((1, 1, 2, 4, 16))):
            change(data, source, seeds)
        yield bytes(data[:LONGEST])


def change(data: bytearray, source: random.Random, seeds: Sequence[bytes]) -> None:
    """Flip, overwrite, insert, remove, repeat or splice, in place."""
    at = source.randrange(len(data) + 1)
    length = source.choice((1, 1, 2, 4, 8, 32))
    match source.randrange(7):
        case 0 if at < len(data):
            data[at] ^= 1 << source.randrange(8)
        case 1 if at < len(data):
            data[at] = source.randrange(256)
        case 2:
            data[at:at] = source.choice(TELLING)
        case 3:
            del data[at : at + length]
        case 4:
            data[at:at] = data[at : at + length]
        case 5:
            other = source.choice(seeds)
            start = source.randrange(len(other) + 1)
            data[at : at + length] = other[start : start + length]
        case _:
            piece = source.choice(TELLING)
            data[at : at + len(piece)] = piece
