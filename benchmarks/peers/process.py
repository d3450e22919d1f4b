"""A peer that runs a Python library in a separate process: see `child.py`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from peers.peer import ChildPeer, Trial

BENCHMARKS = Path(__file__).parents[1]


class Process(ChildPeer):
    def __init__(self, name: str, module: str, python: str, folder: Path, patience: float):
        self.name, self.module, self.python, self.patience = name, module, python, patience
        self.folder = folder / "answers" / module
        self.folder.mkdir(parents=True, exist_ok=True)
        self.read: set[Path] = set()  # folders of arrays that the process has read

    def version(self) -> str:
        return self._facts["version"]

    @property
    def notes(self) -> Mapping[str, str]:
        return self._facts["notes"]

    def load(self, operation: str, workload: Any) -> float | None:
        return self._ask(do="load", operation=operation, folder=self._arrays(workload))["seconds"]

    def trial(self, operation: str, workload: Any) -> Trial:
        told = self._ask(do="trial", operation=operation, folder=self._arrays(workload), answer=str(self.folder))
        columns = {name: np.load(self.folder / f"{name}.npy") for name in told["columns"]}
        return Trial(told["seconds"], columns, told["options"], told["memory"])

    def release(self) -> None:
        for folder in self.read:
            shutil.rmtree(folder, ignore_errors=True)
        self.read.clear()
        if self.process is not None:
            self._ask(do="release")

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
        if self.process is None:
            here = {**os.environ, "PYTHONPATH": str(BENCHMARKS.parent)}  # `dgraph.bench` times it; it needs only Python
            self.start([self.python, "-m", "peers.child", self.module], cwd=BENCHMARKS, env=here)
        return json.loads(self.ask(json.dumps(command)))
