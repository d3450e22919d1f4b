"""docs/semantics.md: when PageRank stops on each engine, and which engine supports which option, each cell tried."""

import importlib
import re
from contextlib import nullcontext

import numpy as np
import pytest
from test_semantics import PAGE

import dgraph as dg
from dgraph.errors import OptionError, UnsettledWarning
from dgraph.keywords import ENGINE_VALUES
from dgraph.ops.wcc import Components

pagerank = importlib.import_module("dgraph.ops.pagerank")  # the module, not the function of the same name
LOOSE = {"tol": 1e-4}
TRIED = {
    "`checkpoint=`": lambda graph, folder, **how: dg.pagerank(graph, checkpoint=dg.Checkpoint(folder), **LOOSE, **how),
    "several personalizations": lambda graph, _, **how: dg.pagerank(
        graph, personalization=[{0: 1}, {1: 1}], **LOOSE, **how
    ),
    "`target=`": lambda graph, _, **how: dg.bfs(graph, 0, target=5, **how),
}


def table(heading):
    """(engine, column) -> cell of the table under a heading, by the name of each engine of a row."""
    lines = re.search(rf"^#+ {re.escape(heading)}\n\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[1].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(engine, dict(zip(head, row, strict=True))) for row in rows for engine in re.findall(r"`(\w+)`", row[0])]


def graph_for(engine):
    return dg.rmat(scale=6, seed=1, parts=1 if engine == "local" else 2)


@pytest.mark.parametrize(("engine", "row"), table("Options by engine"))
def test_engines_support_the_documented_options(engine, row, tmp_path):
    assert {"`engine=`", "its options", *TRIED} == set(row)
    if engine in ENGINE_VALUES:
        value = ENGINE_VALUES[engine]()
        assert f"`dg.{type(value).__name__}(...)`" in row["its options"]
        assert dg.pagerank(graph_for(engine), engine=value, **LOOSE).report.options["engine"] == engine
    else:
        assert row["its options"] == "none"
        with pytest.raises(OptionError, match=f"max_rounds=50 is not available with engine='{engine}'"):
            dg.run(graph_for(engine), Components(), engine=engine, max_rounds=50)
    for option, ask in TRIED.items():
        if row[option] == "no":
            with pytest.raises(OptionError, match=f"engine=['\"]{engine}"):
                ask(graph_for(engine), tmp_path / "run", engine=engine)
        else:
            assert len(ask(graph_for(engine), tmp_path / "run", engine=engine).compute()) == 64


@pytest.mark.parametrize(("engine", "row"), table("Options by engine"))
def test_several_personalizations_take_the_documented_number_of_runs(engine, row, monkeypatch):
    begun = []
    for where, name in ((pagerank, "execute"), (pagerank.residuals, "ranks")):
        work = getattr(where, name)
        monkeypatch.setattr(where, name, lambda *given, work=work, **how: begun.append(work) or work(*given, **how))
    said = row["several personalizations"]
    if said != "no":
        TRIED["several personalizations"](graph_for(engine), None, engine=engine)
        assert len(begun) == {"one run": 1, "one run each": 2}[said]


@pytest.mark.parametrize(("engine", "row"), table("When `pagerank` stops"))
def test_tol_bounds_what_the_documentation_says(engine, row):
    graph, tol = graph_for(engine), 1e-4
    closest = dg.pagerank(graph, tol=0, max_iter=1000).compute()["pagerank"]
    for operator in re.findall(r"`(\w+)`", row["`operator=`"]) or [None]:
        how = {"engine": dg.BlockDescent(operator=operator) if operator else engine}
        found = dg.pagerank(graph, tol=tol, **how)
        if "fixed point" in row["ends when"]:
            assert np.abs(found.compute()["pagerank"] - closest).sum() <= tol
        else:
            assert found.totals["change"] < tol * (1 - 0.85) / 0.85
        limits = row["`max_iter=`"] != "no effect"
        with pytest.warns(UnsettledWarning, match="max_iter=3") if limits else nullcontext():
            limited = dg.pagerank(graph, tol=1e-12, max_iter=3, **how)
        assert (limited.rounds == 3) == limits
        for options in ({"tol": 0, "max_iter": 7}, {"alpha": 1}):
            if row["`tol=0`, `alpha=1`"].startswith("refused"):
                with pytest.raises(OptionError, match="choose one of bsp, gas"):
                    dg.pagerank(graph, **options, **how)
            else:
                found = dg.pagerank(graph, **options, **how)
                assert found.rounds == 7 or (found.rounds < 100 and found.totals["change"] < 1e-6)
