"""What all peers have in common, and the reasons why a peer may not run."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgraph.bench.resources import reset, resident

if TYPE_CHECKING:
    from peers.workloads import Workload

PAGE = 4096


class NotRun(Exception):
    """A peer is absent, lacks the operation, or takes too long. Its row says so, and the others continue."""


class TooLong(NotRun):
    """The run was stopped after this many seconds, before it ended."""

    def __init__(self, seconds: float):
        super().__init__(f"not done after {seconds:g} s")
        self.seconds = seconds


class Lacks(NotRun):
    """A peer lacks the operation, so there is nothing to compare and no row."""


@dataclass(frozen=True)
class Trial:
    """The seconds of the operation alone, its answer as columns for the verifier with matching options, and the peak
    bytes of the operation and its graph, beyond the edges in memory.

    Without columns, the peer does not return its answer and has verified it as well as it can."""

    seconds: float
    answer: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    memory: int | None = None


class Peer:
    """A library that runs the operations in `notes`, which say what it computes, and in which precision."""

    name: str
    notes: Mapping[str, str] = {}
    warms_up = False  # whether its first run is not representative, however long it takes

    def version(self) -> str:
        """The version that is measured; raises NotRun if the peer is absent."""
        raise NotImplementedError

    def note(self, operation: str) -> str:
        """The note on an operation; raises NotRun if the peer is absent or lacks the operation."""
        self.version()
        if operation not in self.notes:
            raise Lacks("has no such operation")
        return self.notes[operation]

    def load(self, operation: str, workload: Workload) -> float | None:
        """Prepare the graph for an operation. Returns the seconds from edge arrays in memory, or None if that is not
        comparable."""
        raise NotImplementedError

    def trial(self, operation: str, workload: Workload) -> Trial:
        """Run the operation once."""
        raise NotImplementedError

    def release(self) -> None:
        """Release all graphs."""

    def close(self) -> None:
        """End the peer's processes."""
        self.release()


class NativePeer(Peer):
    """Programs in C++ that `make` has built in a folder, and that read graphs from files."""

    def __init__(self, programs: Path | None, folder: Path, threads: int, patience: float):
        self.programs, self.folder, self.threads, self.patience = programs, folder, threads, patience
        self.files: dict[Any, Path] = {}

    def program(self, name: str, option: str) -> Path:
        """The path of a program; raises NotRun if it is missing."""
        if self.programs is None:
            raise NotRun(f"no {option}")
        if not (self.programs / name).exists():
            raise NotRun(f"{self.programs} has no program {name}: run make there")
        return self.programs / name

    def said(self, command: Sequence[str | Path]) -> str:
        """What a command prints on standard output."""
        threads = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        how: dict[str, Any] = {"capture_output": True, "text": True, "check": False}
        try:
            done = subprocess.run(command, env=threads, timeout=self.patience, **how)
        except subprocess.TimeoutExpired:
            raise TooLong(self.patience) from None
        if done.returncode:
            raise NotRun(f"ended with {done.returncode}: {done.stderr.strip()[-200:]}")
        return done.stdout

    def release(self) -> None:
        for path in self.files.values():
            path.unlink()
        self.files.clear()


class ChildPeer(Peer):
    """A peer in a process that answers each line with a line. It may hang, crash or use all memory while others
    continue."""

    patience: float  # seconds to wait for an answer
    process: subprocess.Popen | None = None

    def start(self, command: Sequence[str], **how: Any) -> None:
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.errors, text=True, **how)

    def ask(self, line: str) -> str:
        assert self.process is not None and self.process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended; its last output is read below
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        return self.answer()

    def answer(self) -> str:
        """The next line of output; raises NotRun if there is none in time."""
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], self.patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return line
        self.close()
        raise NotRun(f"ended: {self.fault()}") if ready else TooLong(self.patience)

    def fault(self) -> str:
        """Why the process ended: the last line of its errors."""
        self.errors.seek(0)
        return " ".join(self.errors.read().strip().splitlines()[-1:])

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


# -- memory ------------------------------------------------------------------------------------------------------------


def grown(run: Callable[[], Any]) -> tuple[Any, int, int]:
    """What `run` returns, the peak growth of the process in bytes, and the bytes that it has kept, by the kernel's
    records (Linux)."""
    before = resident("VmRSS")
    reset()
    result = run()
    return result, max(PAGE, resident("VmHWM") - before), max(0, resident("VmRSS") - before)


class Needs:
    """The memory of a graph that is loaded once and used many times: the peak during loading, and what a run adds."""

    def load(self, run: Callable[[], Any]) -> Any:
        result, self.loading, self.kept = grown(run)
        return result

    def trial(self, run: Callable[[], Any]) -> tuple[Any, int]:
        """What `run` returns, and the peak bytes of loading and running, beyond the caller's arrays."""
        result, more, _ = grown(run)
        return result, max(self.loading, self.kept + more)
