"""The process of a daemon: it waits for blocks in shared memory, runs kernels over them, and ends when its agent
does."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from mmap import mmap
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from dgraph.agents.cuda_daemon import CudaBlockRunner
from dgraph.agents.daemon import BlockRunner, BufferSpec
from dgraph.agents.shared_memory import arrays_in, mapped
from dgraph.devices.probe import require_cuda

BEAT = 0.05  # seconds between two signs of life


def main(descriptor: int, threads: int) -> None:
    """Serve until the agent closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the agent's to handle
    connection, side = Connection(descriptor), socket.socket(fileno=os.dup(descriptor))
    beat = np.frombuffer(_received(side), np.int64)
    threading.Thread(target=_beat, args=(beat, os.getppid()), daemon=True).start()
    desks: dict[str, Any] = {}
    while True:
        try:
            what, table, value = connection.recv()
        except (EOFError, OSError):
            return
        try:
            if what == "open":
                desks.pop(table, None)
                desks[table] = _desk(value, arrays_in(_received(side), value.spaces), threads)
                answer: Any = None
            elif what == "shut":
                desks.pop(table, None)
                answer = None
            else:
                answer = desks[table].compute(value)
            connection.send((True, answer))
        except Exception as error:
            connection.send((False, error))


def _desk(room: BufferSpec, arrays: dict[str, np.ndarray], threads: int) -> BlockRunner | CudaBlockRunner:
    if room.device == "cpu":
        return BlockRunner(room, arrays, threads)
    require_cuda()
    return CudaBlockRunner(room, arrays)


def _received(side: socket.socket) -> mmap:
    """Memory whose descriptor the agent has sent after a message: it is gone when nobody has it mapped any more."""
    _, (descriptor,), _, _ = socket.recv_fds(side, 1, 1)
    try:
        return mapped(descriptor)
    finally:
        os.close(descriptor)


def _beat(beat: np.ndarray, parent: int) -> None:
    """Show that this process runs, also while a kernel does; end it when the agent's is gone."""
    while True:
        beat[0] += 1
        if os.getppid() != parent:
            os._exit(0)
        time.sleep(BEAT)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
