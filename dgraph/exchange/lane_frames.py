"""Packets as the bytes that travel on a lane."""

from __future__ import annotations

import pickle
import struct

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.bundle import COLUMNS, Bundle
from dgraph.exchange.mail import PASSED_ON, Fragment, Packet, Token

MOST_BYTES = 256 << 10  # bytes of a packet above which a call costs little more
SIZE = struct.Struct("<I")  # the bytes of a frame that follow
# step, number, sender; fragments, bytes of tokens and of the run; buffers and bytes of the bundle; more, accepted
HEAD = struct.Struct("<qqiiiiiiqq")
NOTHING = np.empty(0, np.uint8)
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
    table, data = (NOTHING, NOTHING) if message.bundle is None else (message.bundle.table, message.bundle.data)
    size += data.nbytes
    if size > MOST_BYTES:
        return None
    run = message.run.encode()
    entries = [number for one in fragments for number in (*one[:5], one.data.nbytes)]
    lengths = len(fragments), len(tokens), len(run), len(table), len(data)
    pieces = [
        HEAD.pack(message.step, message.number, message.worker, *lengths, message.more, message.accepted),
        _padded(run),
        struct.pack(f"<{len(entries)}q", *entries),
        *(_padded(one.data.tobytes()) for one in fragments),
        table.tobytes(),
        data.tobytes(),
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
        step, number, sender, count, of_tokens, of_run, of_table, of_data, more, accepted = HEAD.unpack_from(frame)
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
        bundle = None
        if of_table:
            table = np.frombuffer(frame, np.int64, COLUMNS * of_table, place)
            bundle = Bundle.received(table, np.frombuffer(frame, np.uint8, of_data, place + table.nbytes))
            place += table.nbytes + of_data
        if place + of_tokens != len(frame):
            raise ValueError(f"{len(frame)} bytes instead of {place + of_tokens}")
        tokens = [Token(run, step, *one) for one in pickle.loads(frame[place:])] if of_tokens else []
    except Exception as cause:  # unpickling may raise any
        raise RunError(f"a packet is malformed ({cause}); run again") from cause
    if number == PASSED_ON:
        return Packet(run, step, sender, number, fragments, row=tuple(tokens), bundle=bundle)
    token = tokens[0] if tokens else None
    return Packet(run, step, sender, number, fragments, token, (), bool(more), accepted, bundle)


def _up(size: int) -> int:
    return -size % 8 + size


def _padded(data: bytes) -> bytes:
    return data if len(data) % 8 == 0 else data + bytes(-len(data) % 8)
