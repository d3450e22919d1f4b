"""Runs data sets as the benchmark does: load once, repeat each algorithm, validate every output.

T_l is the time to load the graph into partitions, T_p the time of the algorithm, and T_m (makespan) the time of a whole
job, from the call to the written output. EVPS = (vertices + edges) / T_p.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dgraph.graphalytics import algorithms
from dgraph.graphalytics.dataset import Dataset
from dgraph.graphalytics.verdict import RULES, read_values, validate, write_values


def run_dataset(
    dataset: Dataset,
    *,
    only: Sequence[str] = (),
    repetitions: int = 1,
    output: Path | None = None,
    how: str = "ldbc",
    client: Any = None,
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each job. The graph is not loaded if the data set has none of the algorithms in `only`."""
    names = [name for name in dataset.algorithms if not only or name in only]
    if not names:
        return
    begun = time.perf_counter()
    graph = dataset.graph(client=client)
    _ = graph.partitions
    loaded = time.perf_counter() - begun
    for algorithm in names:
        for repetition in range(repetitions):
            row = {"dataset": dataset.name, "algorithm": algorithm, "repetition": repetition}
            yield {**row, **_job(dataset, graph, algorithm, output, how, options), "T_l": loaded}


def _job(
    dataset: Dataset, graph: Any, algorithm: str, output: Path | None, how: str, options: dict[str, Any]
) -> dict[str, Any]:
    parameters = dataset.parameters(algorithm)
    begun = time.perf_counter()
    result = algorithms.run(graph, algorithm, parameters, **options)
    processed = time.perf_counter() - begun
    values = algorithms.values_of(algorithm, result.compute())
    if output is not None:
        write_values(values, output / f"{dataset.name}-{algorithm.upper()}")
    makespan = time.perf_counter() - begun
    reference = dataset.reference(algorithm)
    row: dict[str, Any] = {"parameters": parameters, "T_p": processed, "T_m": makespan}
    row |= {"vertices": graph.num_vertices, "edges": graph.num_edges, "rounds": result.rounds}
    row["EVPS"] = (graph.num_vertices + graph.num_edges) / processed
    if reference is None:
        return {**row, "valid": None, "problem": "there is no reference"}
    verdict = validate(algorithm, values, read_values(reference, RULES[algorithm] != "epsilon"), how)
    return {**row, "valid": verdict.valid, "problem": verdict.problem}
