"""Packets as the bytes that travel on a lane."""

from __future__ import annotations

import pickle
import struct

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.mail import Fragment, Packet, Token

MOST_BYTES = 256 << 10  # bytes of a packet above which a call costs little more
SIZE = struct.Struct("<I")  # the bytes of a frame that follow
HEAD = struct.Struct("<qqiiii")  # step, number, sender, and how many fragments, bytes of the token and bytes of the run
ENTRY = 6  # numbers that describe a fragment


def frame_of(message: Packet, token: bytes) -> bytes | None:
    """A packet of data in main memory as the bytes on a lane, with what `pickled` made of its token; None if it is too
    large."""
    fragments = message.fragments
    size = 0
    for one in fragments:
        if not isinstance(one.data, np.ndarray):
            return None
        size += one.data.nbytes
    if size > MOST_BYTES:
        return None
    run = message.run.encode()
    entries = [number for one in fragments for number in (*one[:5], one.data.nbytes)]
    pieces = [
        HEAD.pack(message.step, message.number, message.worker, len(fragments), len(token), len(run)),
        _padded(run),
        struct.pack(f"<{len(entries)}q", *entries),
        *(_padded(one.data.tobytes()) for one in fragments),
        token,
    ]
    return b"".join([SIZE.pack(sum(map(len, pieces))), *pieces])


def pickled(token: Token | None) -> bytes:
    """What a packet does not say already of its token."""
    return b"" if token is None else pickle.dumps((token.messages, token.values, token.seconds))


def packet_of(frame: bytearray) -> Packet:
    """The packet of a frame, without its size. Its data is aligned, and not copied."""
    try:
        step, number, sender, count, of_token, of_run = HEAD.unpack_from(frame)
        run = frame[HEAD.size : HEAD.size + of_run].decode()
        place = HEAD.size + _up(of_run)
        entries = struct.unpack_from(f"<{ENTRY * count}q", frame, place)
        place += 8 * ENTRY * count
        fragments = []
        for first in range(0, len(entries), ENTRY):
            sender_part, receiver, buffer, total, start, size = entries[first : first + ENTRY]
            data = np.frombuffer(frame, np.uint8, size, place)
            fragments.append(Fragment(sender_part, receiver, buffer, total, start, data))
            place += _up(size)
        if place + of_token != len(frame):
            raise ValueError(f"{len(frame)} bytes instead of {place + of_token}")
        token = Token(run, step, sender, *pickle.loads(frame[place:])) if of_token else None
    except Exception as cause:  # unpickling may raise any
        raise RunError(f"a packet is malformed ({cause}); run again") from cause
    return Packet(run, step, sender, number, fragments, token)


def _up(size: int) -> int:
    return -size % 8 + size


def _padded(data: bytes) -> bytes:
    return data if len(data) % 8 == 0 else data + bytes(-len(data) % 8)
