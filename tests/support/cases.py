"""The programs of `tests/programs` on one small graph that has everything, and what the reference says."""

from functools import cache

import bytes_and_sums
import draws
import numpy as np
import pandas as pd
import programs
from alike import Alike
from descent import Descent

import dgraph as dg
from dgraph.ops.scc import StrongComponents
from dgraph.programs import reference
from dgraph.programs.analysis import analyse, engines_for

ALL = *programs.EXAMPLES, Descent(source=3), Alike(), *bytes_and_sums.EXAMPLES, StrongComponents(), *draws.EXAMPLES
PROGRAMS = {type(program).__name__: program for program in ALL}
SEED = 11
VERTICES = pd.DataFrame({"id": range(40), "restart": np.arange(40) / np.arange(40).sum()})
# Of these, what block descent takes.
BY_BLOCK = [name for name, program in PROGRAMS.items() if "block_descent" in engines_for(analyse(program))]
STATES = [name for name in BY_BLOCK if name not in ("Residuals", "Katz", "KCore")]  # gathered again each time
SYNCHRONOUS = [name for name in BY_BLOCK if analyse(PROGRAMS[name]).synchronous]


@cache
def edges_for(name: str) -> pd.DataFrame:
    """Self loops, repeated edges, isolated vertices; for a matching, edges from one side to the other."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 35, (110, 2)) // [1, 2], columns=["src", "dst"])
    frame["weight"], frame["rating"] = rng.integers(1, 9, 110) / 8, rng.random(110)
    if name == "Matching":
        frame = frame[(frame["src"] < 20) & (frame["dst"] < 20)].reset_index(drop=True)
        frame["dst"] += 20
    return frame


@cache
def expected(name: str, directed: bool):
    """The reference's run."""
    frame = edges_for(name)
    return reference.run(
        PROGRAMS[name],
        list(zip(frame["src"].tolist(), frame["dst"].tolist(), strict=True)),
        40,
        {column: frame[column].tolist() for column in ("weight", "rating")},
        {"restart": VERTICES["restart"].tolist()},
        directed=directed,
        random_seed=SEED,
    )


def graph_for(name: str, directed: bool = True, **options) -> dg.Graph:
    return dg.Graph.from_edges(edges_for(name), weight="weight", directed=directed, vertices=VERTICES, **options)


def integers(column: pd.Series) -> list:
    """The values of a column of integers or of vectors of integers; -1 where there is none."""
    return column.fillna(-1).map(lambda value: np.asarray(value).astype("int64").tolist()).tolist()


def check(name: str, directed: bool, result) -> None:
    """The result is the reference's: exactly, sums of floats to a tolerance."""
    oracle, found = expected(name, directed), result.compute()
    assert found["vertex"].tolist() == list(range(40))
    for column, values in oracle.results().items():
        values = np.array(values)
        if values.dtype.kind == "f":
            mine = np.array(found[column].tolist(), float)
            np.testing.assert_allclose(mine, values, rtol=1e-5 if name == "Factorize" else 1e-9)
        else:
            assert integers(found[column]) == values.astype("int64").tolist(), column
    options = result.report.options
    if options["local rounds"] == 1 and options["engine"] != "bulk_async":  # whose rounds are those of a partition
        assert oracle.rounds - 1 <= result.rounds <= oracle.rounds


def has_order(what, order, mode):
    """Whether blocks of a program and operator can go in an order: PageRank that gathers has them go in turn."""
    name, operator = what
    return order == "cyclic" or mode == "bsp" or operator == "push" or not name.endswith("PageRank")


def check_values(name, directed, result):
    """The reference's answer; where a program drops what is below its tolerance, to that tolerance."""
    found = result.compute()
    assert found["vertex"].tolist() == list(range(40))
    for column, values in expected(name, directed).results().items():
        values = np.array(values)
        if values.dtype.kind == "f":
            np.testing.assert_allclose(np.array(found[column].tolist(), float), values, rtol=1e-9, atol=1e-8)
        else:
            assert integers(found[column]) == values.astype("int64").tolist(), column
