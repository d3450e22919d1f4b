"""Changed copies of inputs, from a seed: what fuzzing does where atheris cannot be had, and in the short tests."""

import random
import re
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
    b"\x1b[2J",
    b"\xff\xff\xff\xff\x0f",  # numbers of variable length, as in the footers of Parquet
    b"\xff" * 9 + b"\x01",
    b"\xff\xff\xff\x7f",
)
LIES = (b"999999999", b"4294967296", b"900000000000", b"999999999999999999", b"9223372036854775807")
LIES += (b"18446744073709551615", b"9" * 40, b"-9223372036854775808", b"0")
DIGITS = re.compile(rb"[0-9]+")
LONGEST = 4096  # bytes
GROWN, LARGEST = 1 / 500, 9 << 20  # the share of inputs that are grown by repetition, and their bytes


def inputs(seeds: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """The seeds, then copies of them with a few changes each."""
    yield from seeds
    source = random.Random(seed)
    for _ in range(count - len(seeds)):
        data = bytearray(source.choice(seeds))
        for _ in range(source.choice((1, 1, 2, 4, 16))):
            change(data, source, seeds)
        del data[LONGEST:]
        if source.random() < GROWN:
            grow(data, source)
        yield bytes(data)


def change(data: bytearray, source: random.Random, seeds: Sequence[bytes]) -> None:
    """Flip, overwrite, insert, remove, repeat, splice or lie about a number, in place."""
    at = source.randrange(len(data) + 1)
    length = source.choice((1, 1, 2, 4, 8, 32))
    match source.randrange(9):
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
        case 6 if numbers := list(DIGITS.finditer(data)):
            start, end = source.choice(numbers).span()
            data[start:end] = source.choice(LIES)
        case 7 if numbers := list(DIGITS.finditer(data)):  # which leaves all places as they are
            start, end = source.choice(numbers).span()
            data[start:end] = b"9" * (end - start)
        case _:
            piece = source.choice(TELLING)
            data[at : at + len(piece)] = piece


def grow(data: bytearray, source: random.Random) -> None:
    """Repeat a piece, which may be a line, a byte or everything, until the input is large."""
    start = source.choice(
        (0, data.rfind(b"\n", 0, source.randrange(len(data) + 1)) + 1, source.randrange(len(data) + 1))
    )
    end = source.choice((len(data), data.find(b"\n", start) + 1 or len(data), start + 1))
    piece = bytes(data[start:end]) or b"\n"
    size = source.choice((LARGEST, LARGEST, LARGEST // 10, 1 << 18))
    data[end:end] = piece * ((size - len(data)) // len(piece))
