"""A daemon in a process of its own, over shared memory: whatever happens to a device's runtime happens there. The agent
notices when the process dies or hangs, starts another, and has the block in flight computed again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from dgraph.agents.daemon import LOST, BlockCall, BufferSpec
from dgraph.agents.shared_memory import arrays_in, mapped, memory_file, size_of
from dgraph.errors import OptionError, RunError

PATIENCE = 5.0  # seconds without a sign of life, after which a process counts as hung
START = 60.0  # seconds that a process may take to begin: it loads Numba, maybe while others do
LIMIT = 300.0  # seconds that a block may take, in case a device hangs while its process shows life
LOOK = 0.1  # seconds between two looks for signs of life
ATTEMPTS = 3  # to compute one block


class ProcessDaemon:
    """The agent's end. Blocks lie in memory that both map, so transfers cost nothing beyond the agent's own writing."""

    def __init__(self, threads: int = 1, patience: float = PATIENCE):
        if not hasattr(socket, "send_fds"):
            raise OptionError("a daemon in a process of its own needs a POSIX system; leave out daemons=")
        self.threads, self.patience = threads, patience
        self.tables: dict[str, tuple[BufferSpec, int]] = {}  # and the descriptor of their memory
        self.process: subprocess.Popen | None = None
        self.connection: Connection | None = None
        self.beat = np.zeros(1, np.int64)
        self.starts = 0
        self.failures = 0  # in a row
        self.lock = threading.Lock()  # one question at a time

    # -- what agents ask -----------------------------------------------------------------------------------------------

    def open(self, table: str, room: BufferSpec) -> dict[str, np.ndarray]:
        with self.lock:
            self._forget(table)
            descriptor = memory_file(size_of(room.spaces))
            self.tables[table] = room, descriptor
            while not (self._begin() if self.process is None else self._open(table)):
                self._lose()
            self.failures = 0
        return arrays_in(mapped(descriptor), room.spaces)

    def download(self, table: str, call: BlockCall) -> None:
        """The memory is shared."""

    def compute(self, table: str, call: BlockCall) -> Any:
        with self.lock:
            answer = self._ask("compute", table, call)
            if answer is LOST:
                self._lose()
                while not self._begin():
                    self._lose()
            else:
                self.failures = 0
            return answer

    def upload(self, table: str, call: BlockCall) -> None:
        """The memory is shared."""

    def shut(self, table: str) -> None:
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
        """Start the process, and open all tables there."""
        here, there = socket.socketpair()
        command = [sys.executable, "-m", "dgraph.agents.child_process", str(there.fileno()), str(self.threads)]
        paths = os.pathsep.join(path for path in sys.path if path)
        with there:
            self.process = subprocess.Popen(
                command, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": paths}
            )
        self.starts += 1
        self.connection = Connection(here.detach())
        beat = memory_file(8)
        self.beat = np.frombuffer(mapped(beat), np.int64)
        sent = self._pass(beat)
        os.close(beat)
        return sent and all(self._open(table) for table in self.tables)

    def _open(self, table: str) -> bool:
        room, descriptor = self.tables[table]
        return self._ask("open", table, room, descriptor) is not LOST

    def _lose(self) -> None:
        """The process is dead or hangs: see that it is dead."""
        self._end()
        self.failures += 1
        if self.failures >= ATTEMPTS:
            failures, self.failures = self.failures, 0
            raise RunError(
                f"a daemon died or hung {failures} times on one block; run without it: leave out daemons=, or look at "
                "what its process printed"
            )

    def _end(self, politely: bool = False) -> None:
        if self.connection is not None:
            self.connection.close()  # which it takes for the end
            self.connection = None
        if self.process is not None:
            if politely:
                try:
                    self.process.wait(1)
                except subprocess.TimeoutExpired:
                    self.process.kill()
            else:
                self.process.kill()
            self.process.wait()
            self.process = None

    # -- questions and answers -----------------------------------------------------------------------------------------

    def _ask(self, what: str, table: str, value: Any = None, descriptor: int | None = None) -> Any:
        """The answer, or LOST if there will be none. What was raised there is raised here."""
        if self.connection is None:
            return LOST
        try:
            self.connection.send((what, table, value))
            if (descriptor is not None and not self._pass(descriptor)) or not self._wait():
                return LOST
            fine, answer = self.connection.recv()
        except (EOFError, OSError):
            return LOST
        except BaseException:  # Ctrl-C, say: the answer would be taken for that of the next question
            self._end()
            raise
        if not fine:
            raise answer
        return answer

    def _wait(self) -> bool:
        """For an answer; False when the process shows no life for too long. A dead one closes the connection."""
        assert self.connection is not None
        begun = since = time.monotonic()
        last = -1
        while not self.connection.poll(LOOK):
            now, beat = time.monotonic(), int(self.beat[0])
            if beat != last:
                last, since = beat, now
            if now - since > (self.patience if beat else START) or now - begun > LIMIT:
                return False
        return True

    def _pass(self, descriptor: int) -> bool:
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
