"""The findings on a machine with a GPU, one line each. A check that fails does not end the others, and neither does a
process that crashes or hangs: each part of the checks has a separate process, and another process takes over the checks
that are left. A file holds the findings so far."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

OK, MISSED, FAILED, NOT_RUN = "ok", "missed", "FAILED", "not run"
BEGUN = "begun"
LEAST = 15.0  # the minimum number of seconds left to begin a part
KEEP = 5.0  # seconds between two looks at the findings of a part
LONGEST, PATIENCE = 0.5, 60.0  # limits on one check: a share of its part's time, but at least these seconds
GRACE = 10.0  # seconds that a killed process may take to disappear
LOST = "cannot use it any more", "cudaError", "CUDA_ERROR"  # the errors of a process that may have lost its GPU
AGAIN = 3  # the exit code of such a process


@dataclass(frozen=True)
class Finding:
    """A row of the table. `trace` is the traceback of a failure."""

    what: str
    how: str
    said: str
    trace: str = ""


def goal(what: str, reached: bool, said: str) -> Finding:
    """The finding about a goal that must be reached."""
    return Finding(what, OK if reached else MISSED, said)


@dataclass
class Findings:
    """All findings. `file` holds them, too, for the process that waits for this one."""

    file: Path | None = None
    rows: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known = {one.what for one in read(self.file)}  # findings of an earlier process, which has ended

    def check(self, what: str, do: Callable[..., str | Sequence[Finding]], *arguments: Any) -> None:
        """Run a check, which returns a text or several findings, and record the outcome."""
        if what in self.known:
            return
        self._write(Finding(what, BEGUN, ""))
        try:
            said = do(*arguments)
            found = [Finding(what, OK, said)] if isinstance(said, str) else said
        except Exception as error:  # any error belongs in the table
            found = [Finding(what, FAILED, f"{type(error).__name__}: {str(error)[:300]}", traceback.format_exc())]
        for one in found:
            self.note(one)
        if self.file is not None and any(lost in one.said for one in found for lost in LOST):
            os._exit(AGAIN)  # a normal exit may hang without a GPU, because of what packages do then

    def left_out(self, what: str, why: str) -> None:
        if what not in self.known:
            self.note(Finding(what, NOT_RUN, why))

    def note(self, finding: Finding) -> None:
        self.rows.append(finding)
        print(f"{finding.how:8}{finding.what}: {finding.said}\n{finding.trace}".rstrip(), flush=True)
        self._write(finding)

    def _write(self, finding: Finding) -> None:
        if self.file is not None:
            with self.file.open("a") as file:
                file.write(f"\n{json.dumps(asdict(finding))}\n")  # on a new line, whatever precedes it

    def run(self, part: str, command: Sequence[str], seconds: float, keep: Callable[[], Any] = lambda: None) -> None:
        """Run a part in a separate process, which writes its rows to a file; if it crashes or hangs, another process
        runs the rest. Findings are saved every few seconds, because this process may be ended, too."""
        if seconds < LEAST:
            self.left_out(part, f"no time was left: run it alone, `check.py {part}`")
            return
        before, over = self.rows, time.monotonic() + seconds

        def look() -> list[Finding]:
            rows = read(file)
            self.rows = before + [one for one in rows if one.how != BEGUN]
            with suppress(OSError):  # everything is printed at the end
                keep()
            return rows

        with tempfile.TemporaryDirectory() as folder:
            file, known = Path(folder) / "rows", -1
            file.touch()
            while known < (known := begun(read(file))) and time.monotonic() < over:  # while each process gets further
                fault = attempt([*command, str(file)], look, over, max(PATIENCE, LONGEST * seconds))
                if not fault:
                    break
                if fault is not AGAIN:
                    Findings(file).note(Finding(part, FAILED, f"its process {fault}"))
                    look()

    @property
    def markdown(self) -> str:
        def cell(text: str) -> str:
            return " ".join(text.replace("|", "/").split())

        table = [f"| {cell(one.what)} | {one.how} | {cell(one.said)} |" for one in self.rows]
        traces = [f"\n```\n{one.what}\n{one.trace.rstrip()}\n```" for one in self.rows if one.trace]
        return "\n".join(["| check | | found |", "|---|---|---|", *table, *traces])

    @property
    def failed(self) -> int:
        return sum(one.how == FAILED for one in self.rows)


def read(file: Path | None) -> list[Finding]:
    """The rows of a file. A row may be incomplete, if its process is still writing or crashed while writing."""
    rows = []
    for line in [] if file is None or not file.exists() else file.read_text().split("\n"):
        with suppress(ValueError, TypeError):
            rows.append(Finding(**json.loads(line)))
    return rows


def begun(rows: Sequence[Finding]) -> int:
    return sum(one.how == BEGUN for one in rows)


def end_with(parent: int) -> None:
    """End this process and its children when its parent is gone, because a killed parent cannot end them itself."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def keep(file: Path, text: str) -> None:
    """Replace a file atomically: it holds the old or the whole new text, whenever this process is ended."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(text)
    beside.replace(file)


def attempt(command: Sequence[str], look: Callable[[], list[Finding]], over: float, longest: float) -> Any:
    """Run a process; returns how it ended early, as text or AGAIN, or 0 if it completed."""
    process = subprocess.Popen(command, start_new_session=True)  # one session for all that it starts
    rows, since = look(), time.monotonic()
    try:
        while process.poll() is None and time.monotonic() < min(over, since + longest):
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, min(KEEP, over - time.monotonic(), since + longest - time.monotonic())))
            if len(rows) < len(rows := look()):
                since = time.monotonic()
        ended = process.poll()
    finally:
        with suppress(ProcessLookupError, PermissionError):  # kill the process, or what it has left behind
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # a process that waits for a stuck driver cannot be killed
            process.wait(GRACE)
    rows = look()
    if ended in (0, AGAIN):
        return ended
    during = f"during: {rows[-1].what}" if rows and rows[-1].how == BEGUN else "between two checks"
    how = f"took more than {time.monotonic() - since:.0f} s" if ended is None else f"ended with {ended}"
    return f"{how}, {during}"
