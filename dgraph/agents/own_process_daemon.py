"""A daemon in a separate process, over shared memory, so that a failure of the device's runtime stays in that process.
When the process dies or hangs, the agent starts another and has the block in flight computed again.

The agent runs this module as that process (see `main`)."""

from __future__ import annotations

import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from dgraph.agents.daemon import LOST, ArraySpec, BlockCall, WorkspaceSpec
from dgraph.agents.local_daemon import LocalDaemon
from dgraph.devices.probe import CUDA, OR_NO_DAEMON, require_cuda
from dgraph.errors import OptionError, RunError

BEAT_TIMEOUT = 5.0  # seconds without a heartbeat after which a process counts as hung
START_TIMEOUT = 60.0  # seconds that a process may take to start: it loads Numba, perhaps while others do the same
BLOCK_TIMEOUT = 300.0  # seconds that a block may take: a device may hang while its process still sends heartbeats
CHECK_INTERVAL = 0.1  # seconds between two checks of the heartbeat
ATTEMPTS = 3  # attempts to compute one block
BEAT_INTERVAL = 0.05  # seconds between two heartbeats
ALIGNMENT = 64  # bytes: a cache line


class ProcessDaemon:
    """The agent's end. Both processes map the same memory, so the agent's own writes are the only transfers."""

    def __init__(self, threads: int = 1, patience: float = BEAT_TIMEOUT):
        if not hasattr(socket, "send_fds"):
            raise OptionError('daemons="own process" needs a POSIX system; use daemons=["in process"] or omit daemons=')
        self.threads, self.patience = threads, patience
        self.tables: dict[str, tuple[WorkspaceSpec, int]] = {}  # with the descriptor of their memory
        self.process: subprocess.Popen | None = None
        self.connection: Connection | None = None
        self.beat = np.zeros(1, np.int64)
        self.starts = 0
        self.failures = 0  # consecutive failures
        self.lock = threading.Lock()  # one request at a time

    # -- the interface of daemons --------------------------------------------------------------------------------------

    def open(self, table: str, spec: WorkspaceSpec) -> dict[str, np.ndarray]:
        with self.lock:
            self._forget(table)
            descriptor = memory_file(size_of(spec.arrays))
            self.tables[table] = spec, descriptor
            while not (self._begin() if self.process is None else self._open(table)):
                self._kill_process()
            self.failures = 0
        return arrays_in(map_memory(descriptor), spec.arrays)

    def download(self, table: str, call: BlockCall) -> None:
        """Nothing to do: the memory is shared."""

    def compute(self, table: str, call: BlockCall) -> Any:
        with self.lock:
            answer = self._ask("compute", table, call)
            if answer is LOST:
                self._kill_process()
                while not self._begin():
                    self._kill_process()
            else:
                self.failures = 0
            return answer

    def upload(self, table: str, call: BlockCall) -> None:
        """Nothing to do: the memory is shared."""

    def close_table(self, table: str) -> None:
        with self.lock:
            self._forget(table)
            if self.process is not None and self._ask("shut", table) is LOST:
                self._end()

    def close(self) -> None:
        with self.lock:
            self._end(politely=True)
            for table in list(self.tables):
                self._forget(table)

    @property
    def pid(self) -> int | None:
        return None if self.process is None else self.process.pid

    # -- the process ---------------------------------------------------------------------------------------------------

    def _begin(self) -> bool:
        """Start the process and open all tables in it."""
        own_end, child_end = socket.socketpair()
        arguments = ["-m", "dgraph.agents.own_process_daemon", str(child_end.fileno()), str(self.threads)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with child_end:
            self.process = subprocess.Popen(
                [sys.executable, *arguments], pass_fds=[child_end.fileno()], stdin=subprocess.DEVNULL, env=environment
            )
        self.starts += 1
        self.connection = Connection(own_end.detach())
        beat = memory_file(8)
        self.beat = np.frombuffer(map_memory(beat), np.int64)
        sent = self._send_descriptor(beat)
        os.close(beat)
        return sent and all(self._open(table) for table in self.tables)

    def _open(self, table: str) -> bool:
        spec, descriptor = self.tables[table]
        return self._ask("open", table, spec, descriptor) is not LOST

    def _kill_process(self) -> None:
        """Kill a process that has died or hangs, and give up after several failures."""
        self._end()
        self.failures += 1
        if self.failures >= ATTEMPTS:
            failures, self.failures = self.failures, 0
            problem = f"a daemon process died or hung {failures} times on one block"
            raise RunError(f"{problem}; see what it printed, or run without daemons by omitting daemons=")

    def _end(self, politely: bool = False) -> None:
        if self.connection is not None:
            self.connection.close()  # this ends the process
            self.connection = None
        if self.process is not None:
            if politely:
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(1)
            self.process.kill()  # no effect if it has ended
            self.process.wait()
            self.process = None

    # -- requests and answers ------------------------------------------------------------------------------------------

    def _ask(self, what: str, table: str, value: Any = None, descriptor: int | None = None) -> Any:
        """Return the answer to a request, or LOST if there will be none. An exception raised in the process is raised
        here."""
        if self.connection is None:
            return LOST
        try:
            self.connection.send((what, table, value))
            if (descriptor is not None and not self._send_descriptor(descriptor)) or not self._wait():
                return LOST
            fine, answer = self.connection.recv()
        except (EOFError, OSError):
            return LOST
        except BaseException:  # such as Ctrl-C: the late answer would be taken for that of the next request
            self._end()
            raise
        if not fine:
            raise answer
        return answer

    def _wait(self) -> bool:
        """Wait for an answer; False if heartbeats stop for too long. A dead process closes the connection."""
        assert self.connection is not None
        begun = since = time.monotonic()
        last = -1
        while not self.connection.poll(CHECK_INTERVAL):
            now, beat = time.monotonic(), int(self.beat[0])
            if beat != last:
                last, since = beat, now
            if now - since > (self.patience if beat else START_TIMEOUT) or now - begun > BLOCK_TIMEOUT:
                return False
        return True

    def _send_descriptor(self, descriptor: int) -> bool:
        assert self.connection is not None
        with socket.socket(fileno=os.dup(self.connection.fileno())) as side:
            try:
                socket.send_fds(side, [b"m"], [descriptor])
            except OSError:
                return False
        return True

    def _forget(self, table: str) -> None:
        if table in self.tables:
            os.close(self.tables.pop(table)[1])


# -- shared memory -----------------------------------------------------------------------------------------------------
# It has no name, so it is freed when both processes have ended, however they ended; `multiprocessing.shared_memory`
# leaves a file behind when its owner is killed.


def size_of(specs: Mapping[str, ArraySpec]) -> int:
    """Bytes that arrays take, each on separate cache lines."""
    return max(ALIGNMENT, sum(map(_aligned, specs.values())))


def arrays_in(memory: mmap.mmap, specs: Mapping[str, ArraySpec]) -> dict[str, np.ndarray]:
    """The arrays, one after another. Both processes derive their places from the same specs."""
    result, begin = {}, 0
    for name, spec in specs.items():
        count = int(np.prod(spec.shape))
        result[name] = np.frombuffer(memory, spec.dtype, count, begin).reshape(spec.shape)
        begin += _aligned(spec)
    return result


def memory_file(size: int) -> int:
    """A descriptor of new, zeroed memory; it can be passed to another process."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("dgraph")
    else:  # a file whose name is removed at once
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


def map_memory(descriptor: int) -> mmap.mmap:
    """The memory behind a descriptor."""
    return mmap.mmap(descriptor, os.fstat(descriptor).st_size)


def _aligned(spec: ArraySpec) -> int:
    return -(-spec.nbytes // ALIGNMENT) * ALIGNMENT


# -- in the other process ----------------------------------------------------------------------------------------------


def main(descriptor: int, threads: int) -> None:
    """Serve until the agent closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the agent handles Ctrl-C
    connection, side = Connection(descriptor), socket.socket(fileno=os.dup(descriptor))
    beat = np.frombuffer(_receive_memory(side), np.int64)
    threading.Thread(target=_send_heartbeats, args=(beat, os.getppid()), daemon=True).start()
    daemon = LocalDaemon(threads)
    while True:
        try:
            what, table, value = connection.recv()
        except (EOFError, OSError):
            return
        answer: Any = None
        try:
            if what == "compute":
                daemon.download(table, value)
                answer = daemon.compute(table, value)
                daemon.upload(table, value)
            else:
                daemon.close_table(table)
            if what == "open":
                arrays = arrays_in(_receive_memory(side), value.arrays)
                if value.device == CUDA:
                    require_cuda(f"daemons='{CUDA} own process'", OR_NO_DAEMON)
                daemon.open(table, value, arrays)
            connection.send((True, answer))
        except Exception as error:
            connection.send((False, error))


def _receive_memory(side: socket.socket) -> mmap.mmap:
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
