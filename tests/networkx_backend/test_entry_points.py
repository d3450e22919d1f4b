"""How NetworkX finds the backend, what that costs, and what the backend never does."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from inspect import signature
from pathlib import Path

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms
from networkx_registered import environment

import dgraph as dg
from dgraph.networkx_backend import choices, entry_points
from dgraph.networkx_backend.calls import function_of
from dgraph.networkx_backend.function_table import FUNCTIONS, NOTES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dgraph" / "networkx_backend"
# What the folder may take from NetworkX: its exceptions, and nothing that computes.
ALLOWED = {f"nx.{name}" for name, one in vars(nx.exception).items() if isinstance(one, type)}
ALLOWED |= {"nx.community", "nx.community.quality", "nx.community.quality.NotAPartition"}
HEAVY = {"dask", "distributed", "numba", "numpy", "pandas", "pyarrow", "scipy"}


def test_the_entry_points_lead_to_the_backend():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, name in {"networkx.backends": "backend", "networkx.backend_info": "backend_info"}.items():
        module, _, attribute = groups[group]["dgraph"].partition(":")
        assert module == entry_points.__name__
        assert attribute == name and hasattr(entry_points, name)


def test_networkx_finds_the_backend_in_a_new_process(tmp_path):
    code = (
        "import networkx as nx; G = nx.path_graph(3); r = nx.pagerank(G, backend='dgraph');"
        "print(sorted(r), 'dgraph' in nx.pagerank.backends, 'dgraph' in nx.pagerank.__doc__)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[0, 1, 2] True True\n", "")


def test_what_networkx_reads_at_import_loads_nothing_heavy():
    code = (
        "import json, sys; from dgraph.networkx_backend.entry_points import backend, backend_info; backend_info();"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert {name.partition(".")[0] for name in loaded} & (HEAVY | {"networkx"}) == set()
    room = "dgraph.networkx_backend"
    assert {name for name in loaded if name.startswith("dgraph.")} == {
        room,
        f"{room}.entry_points",
        f"{room}.function_table",
    }


def test_every_announced_function_is_one_of_networkx_with_its_signature():
    assert set(NOTES) <= set(FUNCTIONS)
    for name in FUNCTIONS:
        assert parameters(function_of(name)) == parameters(_registered_algorithms[name].orig_func), name


def parameters(function) -> list[tuple]:
    return [(one.name, one.kind, one.default) for one in signature(function).parameters.values()]


def test_no_algorithm_of_networkx_is_called():
    """From the source: the folder uses the exceptions of NetworkX, one of which is among its communities, and imports
    nothing else of it."""
    for path in FOLDER.glob("*.py"):
        used = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert [one.name for one in node.names if one.name.startswith("networkx.")] == [], path.name
            elif isinstance(node, ast.ImportFrom):
                assert not str(node.module).startswith("networkx"), path.name
            elif isinstance(node, ast.Attribute) and re.match(r"nx\b", ast.unparse(node)):
                used.add(ast.unparse(node))
        assert used <= ALLOWED, path.name


def test_a_function_that_is_not_announced_is_not_there():
    with pytest.raises(AttributeError, match="no function 'draw'"):
        _ = entry_points.backend.draw
    assert entry_points.backend.can_run("draw", (), {}) == "dgraph has no draw"
    with pytest.raises(NotImplementedError, match="not implemented by 'dgraph'"):
        nx.all_simple_paths(nx.path_graph(3), 0, 2, backend="dgraph")


def test_graphs_of_dgraph_say_so():
    graph = dg.Graph.from_edges({"src": ["a"], "dst": ["b"]})
    assert (graph.__networkx_backend__, graph.is_directed(), graph.is_multigraph()) == ("dgraph", True, False)


def test_the_page_lists_every_function():
    page = (ROOT / "docs" / "networkx.md").read_text()
    table = page[page.index("| | functions |") :].partition("\n\n")[0]
    assert re.findall(r"`(\w+)`", table) == list(FUNCTIONS)


def test_small_graphs_are_left_to_networkx():
    small, large = nx.path_graph(20), nx.path_graph(11_000)
    should_run = entry_points.backend.should_run
    assert "39 nodes and edges are fewer than 10,000" in str(should_run("pagerank", (small,), {}))
    assert should_run("pagerank", (), {"G": large}) is True
    assert should_run("closeness_centrality", (nx.path_graph(300),), {}) is True
    assert "less time for it than the conversion" in str(should_run("has_path", (large, 0, 1), {}))
    nx.is_connected(large, backend="dgraph")
    nx.is_connected(small, backend="dgraph")
    assert "fewer than 2,500" in str(should_run("pagerank", (small,), {}))
    assert should_run("has_path", (large, 0, 1), {}) is True
    assert should_run("pagerank", (dg.Graph.from_edges({"src": [0], "dst": [1]}),), {}) is True


def test_the_rule_of_sizes_names_announced_functions():
    assert set(FUNCTIONS) >= choices.SEARCH_PER_NODE | choices.CHEAP
