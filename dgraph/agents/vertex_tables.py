"""A partition's vertices as kernels read them: one array a field, over owned vertices and proxies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.codegen.recipe import Recipe
from dgraph.codegen.text import inbox, sent
from dgraph.partition.partition import Partition


def vertex_table(recipe: Recipe, partition: Partition, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The arrays that some kernel asks for, as they are before the first round; `columns` are of owned vertices."""
    analysis, size = recipe.analysis, partition.num_local
    asked = {argument.name: argument for kernel in recipe.source.kernels.values() for argument in kernel}
    starts: dict[str, Any] = {f"{state.name}{end}": state.start for state in analysis.states for end in ("", "_before")}
    for phase in analysis.phases:
        for message in phase.messages:
            starts |= {array(phase, message): message.identity for array in (inbox, sent)}
    table: dict[str, Any] = {name: np.zeros(size, bool) for name in ("sending", "arrived")}
    for name, argument in asked.items():
        if name in starts:
            shape = (size,) if argument.dims == 1 else (size, analysis.width)
            table[name] = np.full(shape, starts[name], argument.dtype)
    if "number" in asked:
        table["number"] = partition.numbers.astype(np.int64)
    for column in analysis.vertex_columns:
        table[column.name] = np.full(size, column.missing, column.dtype)
        if column.name in columns:
            table[column.name][: partition.num_owned] = columns[column.name]
    return table


def rows_that_differ(arrays: Sequence[np.ndarray], others: Sequence[Any]) -> np.ndarray:
    """Rows in which an array, scalar or vector a row, is not what another holds, or not a given value."""
    news = np.zeros(len(arrays[0]), bool)
    for array, other in zip(arrays, others, strict=True):
        differs = array != other
        news |= differs if differs.ndim == 1 else differs.any(axis=1)
    return news
