"""What was seen on a machine with a GPU, a line each. A check that fails does not end the others, nor does a process
that dies or hangs: each part of the checks has one of its own, and what it has found so far is in a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

OK, MISSED, FAILED, NOT_RUN = "ok", "missed", "FAILED", "not run"
BEGUN = "begun"
LEAST = 15.0  # seconds that are worth while to begin a part
KEEP = 5.0  # seconds between two looks at what a part has found


@dataclass(frozen=True)
class Finding:
    """A row of the table. `trace` says where it failed."""

    what: str
    how: str
    said: str
    trace: str = ""


def goal(what: str, reached: bool, said: str) -> Finding:
    """Something that must be reached."""
    return Finding(what, OK if reached else MISSED, said)


@dataclass
class Findings:
    """All rows; `file` has them, too, for whoever waits for this process."""

    file: Path | None = None
    rows: list[Finding] = field(default_factory=list)

    def check(self, what: str, do: Callable[..., str | Sequence[Finding]], *arguments: Any) -> None:
        """A check says what it has found, or several things."""
        self._write(Finding(what, BEGUN, ""))
        try:
            said = do(*arguments)
            found = [Finding(what, OK, said)] if isinstance(said, str) else said
        except Exception as error:  # whatever it is, it belongs into the table
            found = [Finding(what, FAILED, f"{type(error).__name__}: {str(error)[:300]}", traceback.format_exc())]
        for one in found:
            self.note(one)

    def left_out(self, what: str, why: str) -> None:
        self.note(Finding(what, NOT_RUN, why))

    def note(self, finding: Finding) -> None:
        self.rows.append(finding)
        print(f"{finding.how:8}{finding.what}: {finding.said}\n{finding.trace}".rstrip(), flush=True)
        self._write(finding)

    def _write(self, finding: Finding) -> None:
        if self.file is not None:
            with self.file.open("a") as file:
                file.write(json.dumps(asdict(finding)) + "\n")

    def run(self, part: str, command: Sequence[str], seconds: float, keep: Callable[[], Any] = lambda: None) -> None:
        """A part in a process of its own, which is told where to write its rows; it is ended when its time is over.
        What it has found so far is kept every few seconds, for this process may be ended, too."""
        if seconds < LEAST:
            self.left_out(part, f"no time was left: run it alone, `check.py {part}`")
            return
        with tempfile.TemporaryDirectory() as folder:
            file, begun = Path(folder) / "rows", time.monotonic()
            file.touch()
            before = self.rows
            rows: list[Finding] = []
            process = subprocess.Popen([*command, str(file)], start_new_session=True)  # with all that it starts

            def look() -> None:
                lines = file.read_text().splitlines(keepends=True)
                rows[:] = [Finding(**json.loads(line)) for line in lines if line.endswith("\n")]
                self.rows = before + [one for one in rows if one.how != BEGUN]
                keep()

            try:
                ended = None
                while ended is None and (left := seconds - (time.monotonic() - begun)) > 0:
                    with suppress(subprocess.TimeoutExpired):
                        ended = process.wait(min(KEEP, left))
                    look()
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            look()
        if ended != 0:
            during = f"during: {rows[-1].what}" if rows and rows[-1].how == BEGUN else "between two checks"
            how = f"took more than {time.monotonic() - begun:.0f} s" if ended is None else f"ended with {ended}"
            self.note(Finding(part, FAILED, f"its process {how}, {during}"))

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
