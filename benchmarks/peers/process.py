"""A peer that runs a library in a separate process, which may hang, crash or use all memory while others continue."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from peers.peer import NotRun, TooLong, Trial, noted

BENCHMARKS = Path(__file__).parents[1]


class Process:
    warms_up = False

    def __init__(self, name: str, module: str, python: str, folder: Path, patience: float):
        self.name, self.module, self.python, self.patience = name, module, python, patience
        self.folder = folder / "answers" / module
        self.folder.mkdir(parents=True, exist_ok=True)
        self.read: set[Path] = set()  # folders of arrays that the process has read
        self.child: subprocess.Popen | None = None

    def version(self) -> str:
        return self._facts["version"]

    def note(self, operation: str) -> str:
        return noted(self._facts["notes"], operation)

    def load(self, operation: str, workload: Any) -> float | None:
        self.note(operation)
        return self._ask(do="load", operation=operation, folder=self._arrays(workload))["seconds"]

    def trial(self, operation: str, workload: Any) -> Trial:
        told = self._ask(do="trial", operation=operation, folder=self._arrays(workload), answer=str(self.folder))
        columns = {name: np.load(self.folder / f"{name}.npy") for name in told["columns"]}
        return Trial(told["seconds"], columns, told["options"], told["memory"])

    def release(self) -> None:
        for folder in self.read:
            shutil.rmtree(folder, ignore_errors=True)
        self.read.clear()
        if self.child is not None:
            self._ask(do="release")

    def close(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.communicate()
            self.child = None

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self._ask(do="facts")

    def _arrays(self, workload: Any) -> str:
        """The folder of the workload's arrays, which all libraries share."""
        folder = self.folder.parents[1] / "arrays" / workload.key
        if not folder.exists():
            workload.write(folder)
        self.read.add(folder)
        return str(folder)

    def _ask(self, **command: Any) -> dict[str, Any]:
        if self.child is None:
            self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
            arguments = [self.python, "-m", "peers.child", self.module]
            pipe = subprocess.PIPE
            here = {**os.environ, "PYTHONPATH": str(BENCHMARKS.parent)}  # `dgraph.bench` times it; it needs only Python
            self.child = subprocess.Popen(
                arguments, cwd=BENCHMARKS, env=here, stdin=pipe, stdout=pipe, stderr=self.errors, text=True
            )
        stdin, stdout = self.child.stdin, self.child.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps(command) + "\n")
            stdin.flush()
        except BrokenPipeError:
            pass  # the process has ended; its last output is read below
        ready, _, _ = select.select([stdout], [], [], self.patience)
        line = stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        if not ready:
            raise TooLong(self.patience)
        self.errors.seek(0)
        raise NotRun(f"ended: {' '.join(self.errors.read().strip().splitlines()[-1:])}")
