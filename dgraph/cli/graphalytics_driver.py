"""The platform driver of Graphalytics: the harness calls it through five scripts in `bin/sh`.

Loading saves the graph in the folder --output-path. A job prints the times, in milliseconds, at which processing starts
and ends, and also writes them to its log, where the harness reads them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import click

from dgraph.cli.command import Command
from dgraph.cli.say import say
from dgraph.errors import FileError
from dgraph.graphalytics import algorithms

# The harness passes options that are not used here.
HARNESS = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.group()
def driver() -> None:
    """Group the commands of the scripts."""


@driver.command("prepare-benchmark", cls=Command, context_settings=HARNESS)
def prepare() -> None:
    """Compile kernels, so that no job waits for the compiler."""
    from dgraph.cli.commands.warmup import warm_up

    for _ in warm_up(("bfs", "cdlp", "lcc", "pagerank", "sssp", "wcc")):
        pass


@driver.command("load-graph", cls=Command, context_settings=HARNESS)
@click.option("--graph-name", required=True)
@click.option("--input-vertex-path", required=True)
@click.option("--input-edge-path", required=True)
@click.option("--output-path", required=True)
@click.option("--directed", type=bool, required=True)
@click.option("--weighted", type=bool, required=True)
def load(**given: Any) -> None:
    """Read the files and save the partitioned graph."""
    import pyarrow as pa

    import dgraph as dg

    vertices = pa.table({"id": pa.array(_ids(given["input_vertex_path"]), pa.int64())})
    weight = 2 if given["weighted"] else None
    text = dg.Text(header=False, delimiter=" ")
    how: dict[str, Any] = {"directed": given["directed"], "vertices": vertices}
    graph = dg.read_edges(given["input_edge_path"], format=text, weight=weight, **how)
    graph.partitioned(("out", "incoming"), (graph.weight,) if graph.weight else ())
    graph.save(given["output_path"], overwrite=True)


def _ids(path: str) -> list[int]:
    """The ids in a file of vertices: the first number in each line, which may be followed by a value."""
    from dgraph.io import files

    ids = []
    for number, line in enumerate(files.read_bytes(path).decode(errors="replace").splitlines(), 1):
        if words := line.split():
            if not re.fullmatch(r"-?[0-9]{1,19}", words[0]) or not -(2**63) <= int(words[0]) < 2**63:
                raise FileError(f"{words[0]!r} is not a vertex id: ids are 64-bit integers", path=path, line=number)
            ids.append(int(words[0]))
    return ids


@driver.command("execute-job", cls=Command, context_settings=HARNESS)
@click.option("--job-id", required=True)
@click.option("--log-path", required=True)
@click.option("--algorithm", required=True, type=click.Choice(list(algorithms.ALGORITHMS), case_sensitive=False))
@click.option("--input-path", required=True)
@click.option("--output-path", required=True)
@click.option("--source-vertex", type=int)
@click.option("--max-iteration", type=int)
@click.option("--damping-factor", type=float)
def execute(job_id: str, log_path: str, algorithm: str, input_path: str, output_path: str, **given: Any) -> None:
    """Run one algorithm on a loaded graph."""
    import dgraph as dg
    from dgraph.graphalytics.verdict import write_values

    folder = Path(log_path)
    folder.mkdir(parents=True, exist_ok=True)
    process = folder / f"{job_id}.pid"
    process.write_text(str(os.getpid()))
    try:
        rounds = given["max_iteration"]
        parameters = {"source-vertex": given["source_vertex"], "damping-factor": given["damping_factor"]}
        parameters |= {"max-iterations": rounds, "num-iterations": rounds}
        graph = dg.open_graph(input_path)
        lines = [f"Processing starts at: {_now()}"]
        result = algorithms.run(graph, algorithm, parameters)
        lines.append(f"Processing ends at: {_now()}")
        write_values(algorithms.values_of(algorithm, result.compute()), output_path)
        (folder / "platform.log").write_text("\n".join([*lines, ""]))
        say("\n".join(lines))
    finally:
        process.unlink(missing_ok=True)


@driver.command("terminate-job", cls=Command, context_settings=HARNESS)
@click.option("--job-id", required=True)
@click.option("--log-path", required=True)
def terminate(job_id: str, log_path: str) -> None:
    """Stop a running job."""
    process = Path(log_path) / f"{job_id}.pid"
    if process.is_file():
        os.kill(int(process.read_text()), signal.SIGTERM)
        process.unlink(missing_ok=True)


@driver.command("unload-graph", cls=Command, context_settings=HARNESS)
@click.option("--graph-name", required=True)
@click.option("--output-path", required=True)
def unload(graph_name: str, output_path: str) -> None:
    """Remove the folder if it holds a saved graph."""
    from dgraph.building.saved_graph import MANIFEST

    if (Path(output_path) / MANIFEST).is_file():
        shutil.rmtree(output_path)


def _now() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    driver()
