"""A partition's vertices as kernels read them: one array per field, for owned vertices and then proxies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.codegen.message_sums import EXCESS
from dgraph.codegen.recipe import Recipe
from dgraph.codegen.text import Argument
from dgraph.programs.analysis import Analysis
from dgraph.programs.kernel_names import before_name, field_name, inbox_name, sent_name
from dgraph.programs.program import State
from dgraph.tables.edge_tables import EdgeTables


def vertex_table(recipe: Recipe, edges: EdgeTables, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The arrays that the kernels of the program use, with their values before the first round. `columns` has the
    values of owned vertices."""
    analysis, size = recipe.analysis, edges.partition.num_local
    arguments = _arguments(recipe)
    starts = _initial_values(analysis)
    flags = {name: arguments[name].dtype if name in arguments else "bool" for name in ("sending", "arrived")}
    table: dict[str, Any] = {name: np.zeros(size, dtype) for name, dtype in flags.items()}
    for name, argument in arguments.items():
        if name in starts:
            shape = (size,) if argument.dims == 1 else (size, analysis.width)
            table[name] = np.full(shape, starts[name], argument.dtype)
    if "number" in arguments:
        table["number"] = edges.numbers()
    if EXCESS in arguments:
        table[EXCESS] = np.zeros(1, np.int64)
    for column in analysis.vertex_columns:
        shape = (size,) if column.shape is None else (size, analysis.width)
        table[field_name(column.name)] = np.full(shape, column.missing, column.dtype)
        if column.name in columns:
            table[field_name(column.name)][: edges.partition.num_owned] = columns[column.name]
    return table


def bytes_per_vertex(recipe: Recipe) -> int:
    """Bytes that a run needs per local vertex: its row in the table and its place in two lists; if the run counts the
    slack of vertices, also the slack, what each vertex last sent, and where rows of proxies begin."""
    arguments = _arguments(recipe)
    columns = {field_name(column.name) for column in recipe.analysis.vertex_columns}
    fields = [one for name, one in arguments.items() if name in {*_initial_values(recipe.analysis), *columns}]
    each = [np.dtype(one.dtype).itemsize * (recipe.analysis.width if one.dims > 1 else 1) for one in fields]
    flags, lists, slack = 2, 8, 28 if "slack" in arguments else 0
    return sum(each) + flags + lists + slack


def _arguments(recipe: Recipe) -> dict[str, Argument]:
    """All arguments of the program's kernels, by name."""
    return {argument.name: argument for kernel in recipe.source.kernels.values() for argument in kernel}


def _initial_values(analysis: Analysis) -> dict[str, Any]:
    """The initial value of each array of states and messages."""
    starts: dict[str, Any] = {
        array(state.name): state.start for state in analysis.states for array in (field_name, before_name)
    }
    for phase in analysis.phases:
        for message in phase.messages:
            starts |= {array(phase, message): message.identity for array in (inbox_name, sent_name)}
    return starts


def empty_results(analysis: Analysis, n: int) -> dict[str, np.ndarray]:
    """Empty arrays for the results of n owned vertices, which the kernel `finish` fills."""
    return {
        f"result_{name}": np.empty((n, analysis.width) if reads.vector else (n,), of.dtype)
        for name, (of, reads) in analysis.results.items()
    }


def states_as_columns(analysis: Analysis, table: Mapping[str, Any], n: int) -> dict[str, np.ndarray]:
    """The result of a program that declares no results: its states. A state that no function reads or writes has no
    array and keeps its initial value."""

    def column(state: State) -> np.ndarray:
        if field_name(state.name) in table:
            return table[field_name(state.name)][:n]
        return np.full((n,) if state.shape is None else (n, analysis.width), state.start, state.dtype)

    return {state.name: column(state) for state in analysis.states_without_deltas}
