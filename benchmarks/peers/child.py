"""The process of one Python library. It reads a JSON command per line and answers in JSON; arrays travel as files.

python -m peers.child networkit
"""

from __future__ import annotations

import json
import os
import resource
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.bench.resources import timed
from peers.library import Arrays, Library
from peers.peer import Needs

MEMORY = 12 << 30  # bytes that a library may use, so that it cannot bring down the others


class Bench:
    """The loaded graphs, and the commands that use them."""

    def __init__(self, library: Library):
        self.library = library
        self.arrays: dict[str, Arrays] = {}
        self.graphs: dict[Any, tuple[Any, float, Needs]] = {}

    def facts(self) -> dict[str, Any]:
        versions = ", ".join(f"{package} {version(package)}" for package in self.library.packages)
        notes = {operation: known.note for operation, known in self.library.operations.items()}
        return {"version": versions, "notes": notes}

    def load(self, operation: str, folder: str) -> dict[str, Any]:
        load = self.library.operations[operation].load
        if folder not in self.arrays:
            self.arrays[folder] = Arrays.read(Path(folder))
        if (folder, load) not in self.graphs:
            needs = Needs()
            seconds, graph = needs.load(lambda: timed(lambda: load(self.arrays[folder])))
            self.graphs[folder, load] = graph, seconds, needs
        return {"seconds": self.graphs[folder, load][1]}

    def trial(self, operation: str, folder: str, answer: str) -> dict[str, Any]:
        known, arrays = self.library.operations[operation], self.arrays[folder]
        graph, _, needs = self.graphs[folder, known.load]
        (seconds, found), memory = needs.trial(lambda: timed(lambda: known.run(graph, arrays)))
        columns = {known.answer: found} if isinstance(known.answer, str) else known.answer(found, arrays)
        for name, values in columns.items():
            np.save(Path(answer) / f"{name}.npy", values)
        return {"seconds": seconds, "columns": list(columns), "options": known.options, "memory": memory}

    def release(self) -> dict[str, Any]:
        self.arrays.clear()
        self.graphs.clear()
        return {}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not be mistaken for answers
    bench = Bench(import_module(f"peers.{sys.argv[1]}").LIBRARY)
    for line in sys.stdin:
        command = json.loads(line)
        told = getattr(bench, command.pop("do"))(**command)
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
