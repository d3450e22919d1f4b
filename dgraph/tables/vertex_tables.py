"""A partition's vertices as kernels read them: one array a field, over owned vertices and then proxies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.codegen.recipe import Recipe
from dgraph.programs.analysis import Analysis
from dgraph.programs.kernel_names import before, inbox, key, sent
from dgraph.programs.program import State
from dgraph.tables.edge_tables import EdgeTables


def vertex_table(recipe: Recipe, edges: EdgeTables, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The arrays that some kernel of the program asks for, as they are before the first round; `columns` are of owned
    vertices."""
    analysis, size = recipe.analysis, edges.partition.num_local
    asked = {argument.name: argument for kernel in recipe.source.kernels.values() for argument in kernel}
    starts = _starts(analysis)
    flags = {name: asked[name].dtype if name in asked else "bool" for name in ("sending", "arrived")}
    table: dict[str, Any] = {name: np.zeros(size, dtype) for name, dtype in flags.items()}
    for name, argument in asked.items():
        if name in starts:
            shape = (size,) if argument.dims == 1 else (size, analysis.width)
            table[name] = np.full(shape, starts[name], argument.dtype)
    if "number" in asked:
        table["number"] = edges.numbers()
    for column in analysis.vertex_columns:
        shape = (size,) if column.shape is None else (size, analysis.width)
        table[key(column.name)] = np.full(shape, column.missing, column.dtype)
        if column.name in columns:
            table[key(column.name)][: edges.partition.num_owned] = columns[column.name]
    return table


def bytes_of_vertex(recipe: Recipe) -> int:
    """Bytes that a run takes for each local vertex: its row in the table, and in two lists of vertices; where it counts
    the slack of vertices, that, what they had to send, and where rows of proxies begin."""
    asked = {argument.name: argument for kernel in recipe.source.kernels.values() for argument in kernel}
    columns = {key(column.name) for column in recipe.analysis.vertex_columns}
    named = [one for name, one in asked.items() if name in {*_starts(recipe.analysis), *columns}]
    each = [np.dtype(one.dtype).itemsize * (recipe.analysis.width if one.dims > 1 else 1) for one in named]
    flags, lists, slack = 2, 8, 28 if "slack" in asked else 0
    return sum(each) + flags + lists + slack


def _starts(analysis: Analysis) -> dict[str, Any]:
    """The dtype and first value of each array of states and messages."""
    starts: dict[str, Any] = {array(state.name): state.start for state in analysis.states for array in (key, before)}
    for phase in analysis.phases:
        for message in phase.messages:
            starts |= {array(phase, message): message.identity for array in (inbox, sent)}
    return starts


def room_for_results(analysis: Analysis, n: int) -> dict[str, np.ndarray]:
    """Empty arrays for the kernel `finish` to fill, for n owned vertices."""
    return {
        f"result_{name}": np.empty((n, analysis.width) if reads.vector else (n,), of.dtype)
        for name, (of, reads) in analysis.results.items()
    }


def states_as_columns(analysis: Analysis, table: Mapping[str, Any], n: int) -> dict[str, np.ndarray]:
    """The answer of a program that declares no results: its states. A state that no function reads or writes has no
    array."""

    def column(state: State) -> np.ndarray:
        if key(state.name) in table:
            return table[key(state.name)][:n]
        return np.full((n,) if state.shape is None else (n, analysis.width), state.start, state.dtype)

    return {state.name: column(state) for state in analysis.plain}
