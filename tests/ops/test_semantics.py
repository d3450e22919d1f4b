"""docs/semantics.md, row by row: what it says has no effect changes no answer, and all else does."""

import re
import types
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.cli.signatures import needed
from dgraph.errors import InputError

PAGE = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text()


@cache
def cells():
    """What the tables say: (operation, row) -> cell."""
    found = {}
    for table in re.findall(r"((?:^\|.*\n)+)", PAGE, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()]
        names = [re.sub("`", "", cell) for cell in rows[0][1:]]
        if set(names) <= set(dg.OPERATIONS):
            found |= {(name, row[0]): cell for row in rows[2:] for name, cell in zip(names, row[1:], strict=True)}
    return found


def edges_of(operation, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 12, (40, 2)), columns=["src", "dst"])
    frame = frame[frame["src"] != frame["dst"]].drop_duplicates().reset_index(drop=True)
    if operation == "matching":
        frame["dst"] += 12
    if operation == "topological_generations":
        frame = pd.DataFrame(np.sort(frame, axis=1), columns=["src", "dst"]).drop_duplicates(ignore_index=True)
    return frame.assign(weight=rng.integers(2, 9, len(frame)) / 2)


def changed(row, frame, seed):
    """The graph with what the row speaks of, and without."""
    rng = np.random.default_rng(seed)
    some = frame.sample(8, random_state=seed)
    if row == "reversed edges":
        return frame.rename(columns={"src": "dst", "dst": "src"})
    if row == "repeated edges":
        return pd.concat([frame, some.assign(weight=0.25)], ignore_index=True)
    if row == "self loop":
        return pd.concat([frame, some.assign(dst=some["src"])], ignore_index=True)
    return frame.assign(weight=rng.integers(2, 99, len(frame)) / 2)


# with which rows of the tables are tried
OPTIONS = {"eccentricity": {"components": "largest"}}


def answer(operation, frame, how=types.MappingProxyType({}), **options):
    graph = dg.Graph.from_edges(frame, weight="weight", vertices=26, **options)
    run = getattr(dg, operation)
    return run(graph, **dict.fromkeys(needed(run), 0), **how.get(operation, {})).compute()


ROWS = ("reversed edges", "repeated edges", "self loop", "weights")


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("operation", dg.OPERATIONS)
def test_input_has_the_effect_that_semantics_documents(operation, row):
    says = cells().get((operation, row))
    assert says, f"docs/semantics.md: no table has a column `{operation}` with a row {row!r}"
    if "error" in says:
        frame = changed(row, edges_of(operation, 1), 1)
        with pytest.raises(InputError):
            answer(operation, frame)
        return
    differs = False
    for seed in range(6):
        frame = edges_of(operation, seed)
        before, after = (answer(operation, one, OPTIONS) for one in (frame, changed(row, frame, seed)))
        same = all(
            np.allclose(before[c], after[c], rtol=1e-9, equal_nan=True)
            if before[c].dtype.kind == "f"
            else before[c].equals(after[c])
            for c in before
        )
        differs |= not same
        if says.startswith("no effect"):
            assert same, f"{says!r}, and seed {seed} tells otherwise"
    assert differs != says.startswith("no effect"), f"{says!r}, and nothing changes"


ALONE = {  # what the first column holds for vertex 25, by how the row "isolated vertex" begins
    "0": 0,
    "unreachable": np.inf,
    "infinite": np.inf,
    "is its own component": 25,
    "its own community": 25,
    "keeps its label": 25,
    "is in the 0-core only": False,
    "has no mate": "missing",
    "is in the set": True,
    "gets its share": "some",
    "has `beta`": "some",
    "tends to 0": "some",
}


@pytest.mark.parametrize("operation", dg.OPERATIONS)
def test_every_operation_has_its_rows(operation):
    assert {row for name, row in cells() if name == operation} >= {"columns", "isolated vertex", *ROWS}
    columns = re.findall(r"`(\w+)`", cells()[operation, "columns"])
    frame = answer(operation, edges_of(operation, 3))
    assert list(frame) == ["vertex", *columns]
    alone = frame[frame["vertex"] == 25].iloc[0]
    says = cells()[operation, "isolated vertex"]
    expected = next((value for words, value in ALONE.items() if says.startswith(words)), None)
    assert expected is not None, f"{operation}: add what {says!r} means to ALONE in this test"
    value = alone[columns[0]]
    if expected == "missing":
        assert pd.isna(value)
    elif expected == "some":
        assert 0 < value < frame[columns[0]].max()
    else:
        assert np.all(value == expected)
