"""The process of a daemon: it waits for blocks in shared memory, runs kernels over them, and ends when its agent
ends."""

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

from dgraph.agents.cuda_daemon import CudaWorkspace
from dgraph.agents.daemon import CpuWorkspace, Workspace, WorkspaceSpec
from dgraph.agents.shared_memory import arrays_in, map_memory
from dgraph.devices.probe import OR_NO_DAEMON, require_cuda

BEAT_INTERVAL = 0.05  # seconds between two heartbeats


def main(descriptor: int, threads: int) -> None:
    """Serve until the agent closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the agent handles Ctrl-C
    connection, side = Connection(descriptor), socket.socket(fileno=os.dup(descriptor))
    beat = np.frombuffer(_receive_memory(side), np.int64)
    threading.Thread(target=_send_heartbeats, args=(beat, os.getppid()), daemon=True).start()
    workspaces: dict[str, Workspace] = {}
    while True:
        try:
            what, table, value = connection.recv()
        except (EOFError, OSError):
            return
        answer: Any = None
        try:
            if what == "compute":
                workspace = workspaces[table]
                workspace.download(value)
                answer = workspace.run(value)
                workspace.upload(value)
            else:
                workspaces.pop(table, None)
            if what == "open":
                workspaces[table] = _workspace(value, arrays_in(_receive_memory(side), value.arrays), threads)
            connection.send((True, answer))
        except Exception as error:
            connection.send((False, error))


def _workspace(spec: WorkspaceSpec, arrays: dict[str, np.ndarray], threads: int) -> Workspace:
    if spec.device == "cpu":
        return CpuWorkspace(spec, arrays, threads)
    require_cuda("daemons='cuda own process'", OR_NO_DAEMON)
    return CudaWorkspace(spec, arrays)


def _receive_memory(side: socket.socket) -> mmap:
    """Memory whose descriptor the agent has sent after a message. It is freed when no process maps it any more."""
    _, (descriptor,), _, _ = socket.recv_fds(side, 1, 1)
    try:
        return map_memory(descriptor)
    finally:
        os.close(descriptor)


def _send_heartbeats(beat: np.ndarray, parent: int) -> None:
    """Send heartbeats, even while a kernel runs; end this process when the agent's has ended."""
    while True:
        beat[0] += 1
        if os.getppid() != parent:
            os._exit(0)
        time.sleep(BEAT_INTERVAL)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
