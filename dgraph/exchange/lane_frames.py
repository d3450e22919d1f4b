"""Packets as the bytes that travel on a lane."""

from __future__ import annotations

import pickle
import struct

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.mail import PASSED_ON, Fragment, Packet, Token

MOST_BYTES = 256 << 10  # bytes of a packet above which a call costs little more
SIZE = struct.Struct("<I")  # the bytes of a frame that follow
HEAD = struct.Struct("<qqiiiiqq")  # step, number, sender; fragments, bytes of tokens and of the run; more, accepted
ENTRY = 6  # numbers that describe a fragment


def frame_of(message: Packet, tokens: bytes) -> bytes | None:
    """A packet of data in main memory as the bytes on a lane, with what `pickled` made of its tokens; None if it is too
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
    lengths = len(fragments), len(tokens), len(run)
    pieces = [
        HEAD.pack(message.step, message.number, message.worker, *lengths, message.more, message.accepted),
        _padded(run),
        struct.pack(f"<{len(entries)}q", *entries),
        *(_padded(one.data.tobytes()) for one in fragments),
        tokens,
    ]
    return b"".join([SIZE.pack(sum(map(len, pieces))), *pieces])


def pickled(message: Packet) -> bytes:
    """What a packet does not say already of its token, or of those of a row."""
    tokens = message.row if message.token is None else (message.token,)
    return pickle.dumps([one[2:] for one in tokens]) if tokens else b""


def packet_of(frame: bytearray) -> Packet:
    """The packet of a frame, without its size. Its data is aligned, and not copied."""
    try:
        step, number, sender, count, of_tokens, of_run, more, accepted = HEAD.unpack_from(frame)
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
        if place + of_tokens != len(frame):
            raise ValueError(f"{len(frame)} bytes instead of {place + of_tokens}")
        tokens = [Token(run, step, *one) for one in pickle.loads(frame[place:])] if of_tokens else []
    except Exception as cause:  # unpickling may raise any
        raise RunError(f"a packet is malformed ({cause}); run again") from cause
    if number == PASSED_ON:
        return Packet(run, step, sender, number, fragments, row=tuple(tokens))
    return Packet(run, step, sender, number, fragments, tokens[0] if tokens else None, (), bool(more), accepted)


def _up(size: int) -> int:
    return -size % 8 + size


def _padded(data: bytes) -> bytes:
    return data if len(data) % 8 == 0 else data + bytes(-len(data) % 8)
