"""GraphX (Gonzalez et al., 2014): Spark on local cores in one process, with PyPI's pyspark and the system's JDK.

The compiler among Spark's jars compiles `graphx.scala`, which runs as one process that stays warm over all trials.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from peers.peer import ChildPeer, NotRun, Trial

NOTES = {
    "pagerank": "float64; ranks of vertices without out-edges are lost, and all ranks scaled in the end",
    "bfs": "float64, distances only, by Pregel",
    "sssp": "float64, distances only, by Pregel",
    "wcc": "smallest members",
    "label_propagation": "10 rounds, all vertices at once",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "pagerank": {"dangling": "scaled", "rtol": 1e-6},
    "label_propagation": {"restless": 1.0},  # labels may oscillate forever, because all vertices change at once
}
COLUMN = {"pagerank": "pagerank", "wcc": "component", "label_propagation": "label"}


class GraphX(ChildPeer):
    name = "GraphX"
    notes = NOTES
    warms_up = True

    def __init__(self, python: str, folder: Path, threads: int, patience: float, memory: str = "12g"):
        self.python, self.threads, self.patience, self.memory = python, threads, patience, memory
        self.folder = folder / "graphx"
        self.loaded: tuple[Any, float] | None = None

    def version(self) -> str:
        home = home_of(self.python)
        if shutil.which("javac") is None:
            raise NotRun("no JDK")
        jars = sorted(path.name for path in (home / "jars").glob("spark-graphx_*.jar"))
        if not jars:
            raise NotRun(f"no GraphX among the jars of {home}")
        return jars[0].removesuffix(".jar")

    def load(self, operation: str, workload: Any) -> float:
        """Seconds to load from arrays in memory, when warm. An undirected edge becomes two, because GraphX has only
        directed edges."""
        if self.loaded is None or self.loaded[0] is not workload:
            self.folder.mkdir(exist_ok=True)
            starts, ends, weight = workload.edges.arcs
            columns = {"u": starts.astype(np.int64), "v": ends.astype(np.int64), "w": weight.astype(np.float64)}
            for name, values in columns.items():
                values.tofile(self.folder / name)
            size = f"{workload.edges.vertices} {len(starts)} {4 * self.threads}"
            self.loaded = workload, self._ask(f"load {self.folder} {size}")
        return self.loaded[1]

    def trial(self, operation: str, workload: Any) -> Trial:
        answer, n = self.folder / "answer", workload.edges.vertices
        seconds = self._ask(f"trial {operation} {workload.start} {n} {answer}")
        values = np.fromfile(answer)
        if operation == "pagerank":
            values /= values.sum()
        if operation in ("wcc", "label_propagation"):
            values = values.astype(np.int64)
        return Trial(seconds, {COLUMN.get(operation, "distance"): values}, OPTIONS.get(operation, {}))

    def release(self) -> None:
        self.loaded = None

    def close(self) -> None:
        super().close()
        self.loaded = None

    def _ask(self, line: str) -> float:
        if self.process is None:
            home = home_of(self.python)
            archive = compiled(home, Path(__file__).with_suffix(".scala"), self.folder)
            submit = submitted(home, "Bench", self.threads, self.memory)
            self.start([*submit, str(archive)], env={**os.environ, **settings(home)})
            self._seconds(self.answer())
        return self._seconds(self.ask(line))

    def _seconds(self, line: str) -> float:
        if not line.startswith("@@ "):
            self.close()
            raise NotRun(f"ended: {self.fault()}{line}")
        return float(line.split()[1])

    def fault(self) -> str:
        self.errors.seek(0)
        said = [one for one in self.errors.read().splitlines() if "Exception" in one or "Error" in one]
        return " ".join(said[:1])


def home_of(python: str) -> Path:
    """The folder of the Spark that comes with a Python's pyspark."""
    code = "import importlib.util as u; print(u.find_spec('pyspark').submodule_search_locations[0])"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if found.returncode:
        raise NotRun(f"{python} has no pyspark")
    return Path(found.stdout.strip())


def settings(home: Path) -> dict[str, str]:
    return {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}


def compiled(home: Path, source: Path, folder: Path) -> Path:
    """The archive of a compiled Scala program."""
    classes = folder / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    compiler = ["java", "-cp", f"{home}/jars/*", "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(classes)]
    done = subprocess.run([*compiler, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotRun(f"does not compile: {done.stdout.strip()[:200]}")
    return Path(shutil.make_archive(str(folder / "bench"), "zip", classes)).rename(folder / "bench.jar")


def submitted(home: Path, program: str, threads: int, memory: str) -> list[str]:
    """The command to which the caller appends an archive and its arguments."""
    options = ["--class", program, "--master", f"local[{threads}]", "--driver-memory", memory]
    serializer = "spark.serializer=org.apache.spark.serializer.KryoSerializer"
    for setting in ("spark.ui.enabled=false", "spark.log.level=ERROR", serializer):
        options += ["--conf", setting]
    return [str(home / "bin/spark-submit"), *options]
