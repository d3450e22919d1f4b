"""A packet as frames of distributed: small fragments together in one, large ones without a copy, none compressed; what
is on a device by distributed's own serialisers for GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed.protocol.pickle import dumps, loads
from distributed.protocol.serialize import Serialized, serialize

from dgraph.errors import RunError
from dgraph.exchange.mail import Fragment, Packet

FAMILIES = "cuda", "dask"  # of serialisers for arrays on a device: of CuPy; of NumPy in the simulator
SMALL = 64 << 10  # bytes: below, a copy costs less than a frame of its own


def pack(message: Packet) -> dict[str, Any]:
    """The arguments of the call that carries a packet. `Serialized` is neither compressed nor split on its way."""
    here = [f for f in message.fragments if isinstance(f.data, np.ndarray)]
    there = [f for f in message.fragments if not isinstance(f.data, np.ndarray)]
    small = [f.data for f in here if f.data.nbytes < SMALL]
    large = [f.data for f in here if f.data.nbytes >= SMALL]
    frames = ([np.concatenate(small)] if small else []) + large
    raw = [f.data.raw for f in there]
    return {
        "run": message.run,
        "step": message.step,
        "sender": message.worker,
        "number": message.number,
        "manifest": [number for f in [*here, *there] for number in (*f[:5], f.data.nbytes)],
        "frames": Serialized(*serialize([memoryview(frame) for frame in frames])) if frames else [],
        "there": Serialized(*serialize(raw, FAMILIES, "raise", iterate_collection=True)) if raw else [],
        "token": None if message.token is None else dumps(message.token),
    }


def unpack(
    run: str, step: int, sender: int, number: int, manifest: list, frames: list, there: list, token: bytes | None
) -> Packet:
    """What `pack` made, without copying the frames."""
    try:
        entries = np.array(manifest, np.int64).reshape(-1, 6).tolist()
        arrays = iter([np.frombuffer(frame, np.uint8) for frame in frames])
        here = len(entries) - len(there)
        together = next(arrays) if any(entry[5] < SMALL for entry in entries[:here]) else np.empty(0, np.uint8)
        data: Any
        fragments, used = [], 0
        for place, (source, receiver, buffer, total, start, size) in enumerate(entries):
            if place >= here:
                data = there[place - here]
            elif size < SMALL:
                data, used = together[used : used + size], used + size
            else:
                data = next(arrays)
            if not (data.nbytes == size and 0 <= start <= total - size):
                raise ValueError(f"a fragment of {data.nbytes} bytes at {start} of {total}")
            fragments.append(Fragment(source, receiver, buffer, total, start, data))
    except (ValueError, TypeError, OverflowError, StopIteration) as cause:
        raise RunError(f"message {number} of worker {sender} cannot be taken apart ({cause!r}); run again") from cause
    return Packet(run, step, sender, number, fragments, None if token is None else loads(token))
