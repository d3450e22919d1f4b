"""docs/semantics.md, row by row: what it says is no matter changes no answer, and all else does."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import InputError

PAGE = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text()
NEEDS = {"bfs": {"source": 0}, "sssp": {"source": 0}}


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


def answer(operation, frame, **options):
    graph = dg.Graph.from_edges(frame, weight="weight", vertices=26, **options)
    return getattr(dg, operation)(graph, **NEEDS.get(operation, {})).compute()


ROWS = ("reversed edges", "repeated edges", "self loop", "weights")


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("operation", dg.OPERATIONS)
def test_what_matters_and_what_does_not(operation, row):
    says = cells()[operation, row]
    if "error" in says:
        frame = changed(row, edges_of(operation, 1), 1)
        with pytest.raises(InputError):
            answer(operation, frame)
        return
    differs = False
    for seed in range(6):
        frame = edges_of(operation, seed)
        before, after = answer(operation, frame), answer(operation, changed(row, frame, seed))
        same = all(
            np.allclose(before[c], after[c], rtol=1e-9, equal_nan=True)
            if before[c].dtype.kind == "f"
            else before[c].equals(after[c])
            for c in before
        )
        differs |= not same
        if says.startswith("no matter"):
            assert same, f"{says!r}, and seed {seed} tells otherwise"
    assert differs != says.startswith("no matter"), f"{says!r}, and nothing changes"


@pytest.mark.parametrize("operation", dg.OPERATIONS)
def test_every_operation_has_its_rows(operation):
    assert {row for name, row in cells() if name == operation} >= {"columns", "isolated vertex", *ROWS}
    columns = re.findall(r"`(\w+)`", cells()[operation, "columns"])
    frame = answer(operation, edges_of(operation, 3))
    assert list(frame) == ["vertex", *columns]
    alone = frame[frame["vertex"] == 25].iloc[0]
    expected = {
        "bfs": ("distance", np.inf),
        "sssp": ("distance", np.inf),
        "wcc": ("component", 25),
        "scc": ("component", 25),
        "cdlp": ("label", 25),
        "label_propagation": ("label", 25),
        "k_core": ("in_core", False),
        "triangles": ("triangles", 0),
        "lcc": ("lcc", 0),
        "core_number": ("core", 0),
        "degrees": ("degree", 0),
        "hits": ("hub", 0),
    }
    if operation in expected:
        column, value = expected[operation]
        assert alone[column] == value
    elif operation == "matching":
        assert pd.isna(alone["mate"])
    else:
        assert 0 < alone[operation] < frame[operation].max()
