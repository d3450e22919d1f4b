"""A message as frames of distributed: small fragments together in one, large ones without a copy, none compressed."""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed.protocol.pickle import dumps, loads
from distributed.protocol.serialize import Serialized, serialize

from dgraph.errors import RunError
from dgraph.exchange.mail import Fragment, Message

SMALL = 64 << 10  # bytes: below, a copy costs less than a frame of its own


def pack(message: Message) -> dict[str, Any]:
    """The arguments of the call that carries a message. `Serialized` is neither compressed nor split on its way."""
    small = [f.data for f in message.fragments if f.data.nbytes < SMALL]
    large = [f.data for f in message.fragments if f.data.nbytes >= SMALL]
    frames = ([np.concatenate(small)] if small else []) + large
    return {
        "run": message.run,
        "step": message.step,
        "sender": message.worker,
        "number": message.number,
        "manifest": [number for f in message.fragments for number in (*f[:5], f.data.nbytes)],
        "frames": Serialized(*serialize([memoryview(frame) for frame in frames])) if frames else [],
        "token": None if message.token is None else dumps(message.token),
    }


def unpack(run: str, step: int, sender: int, number: int, manifest: list, frames: list, token: bytes | None) -> Message:
    """What `pack` made, without copying the frames."""
    try:
        entries = np.array(manifest, np.int64).reshape(-1, 6).tolist()
        arrays = iter([np.frombuffer(frame, np.uint8) for frame in frames])
        together = next(arrays) if any(entry[5] < SMALL for entry in entries) else np.empty(0, np.uint8)
        fragments, used = [], 0
        for source, receiver, buffer, total, start, size in entries:
            if size < SMALL:
                data, used = together[used : used + size], used + size
            else:
                data = next(arrays)
            if not (data.nbytes == size and 0 <= start <= total - size):
                raise ValueError(f"a fragment of {data.nbytes} bytes at {start} of {total}")
            fragments.append(Fragment(source, receiver, buffer, total, start, data))
    except (ValueError, TypeError, OverflowError, StopIteration) as cause:
        raise RunError(f"message {number} of worker {sender} cannot be taken apart ({cause!r}); run again") from cause
    return Message(run, step, sender, number, fragments, None if token is None else loads(token))
