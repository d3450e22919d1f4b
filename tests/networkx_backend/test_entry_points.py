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
from dgraph.networkx_backend.sizes import SIZES, least_size

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dgraph" / "networkx_backend"
# What the folder may take from NetworkX: its exceptions, and nothing that computes.
ALLOWED = {f"nx.{name}" for name, one in vars(nx.exception).items() if isinstance(one, type)}
ALLOWED |= {"nx.Graph", "nx.community", "nx.community.quality", "nx.community.quality.NotAPartition"}
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
    """From the source: the folder uses the graphs and exceptions of NetworkX, one among its communities, and
    imports nothing else of it."""
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


def test_the_page_lists_every_function_that_does_not_take_all_arguments():
    page = (ROOT / "docs" / "networkx.md").read_text()
    table = page[page.index("| functions | not available |") :].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named <= set(FUNCTIONS)
    assert set(choices._CHECKS) <= named


def test_graphs_are_left_to_networkx_below_the_measured_size():
    should_run = entry_points.backend.should_run
    for name, arguments in {"pagerank": (), "betweenness_centrality": (), "has_path": (0, 1)}.items():
        for converted in (False, True):
            least = least_size(name, converted=converted)
            if least is None:
                assert "NetworkX is faster at it" in should_run(name, (nx.path_graph(20), *arguments), {})
                continue
            for graph, said in ((nx.path_graph(least // 2), "fewer than"), (nx.path_graph(least // 2 + 1), True)):
                if converted:
                    nx.is_connected(graph, backend="dgraph")
                answer = should_run(name, (graph, *arguments), {})
                assert answer is True if said is True else said in answer
    assert should_run("pagerank", (), {"G": dg.Graph.from_edges({"src": [0], "dst": [1]})}) is True


def test_calls_for_a_few_nodes_are_left_to_networkx():
    large = nx.empty_graph(200_000)
    assert entry_points.backend.should_run("core_number", (large,), {}) is True
    for name in ("clustering", "triangles"):
        assert "these nodes alone" in entry_points.backend.should_run(name, (large, [1, 2]), {})


def test_a_failed_conversion_is_no_converted_graph():
    graph = nx.Graph([(0, 1, {"weight": "heavy"})])
    with pytest.raises(NotImplementedError):
        nx.pagerank(graph, backend="dgraph")
    least = least_size("core_number", converted=False)
    assert f"fewer than {least:,}" in entry_points.backend.should_run("core_number", (graph,), {})


def test_the_table_of_sizes_names_announced_functions():
    assert set(SIZES) <= set(FUNCTIONS)


def test_an_older_networkx_is_refused(monkeypatch):
    monkeypatch.setattr(choices, "_version", lambda: (3, 4))
    assert "needs NetworkX 3.5 or newer" in entry_points.backend.can_run("pagerank", (nx.path_graph(3),), {})


def test_what_networkx_reads_at_import_takes_a_moment():
    code = (
        # What NetworkX has imported by then does not count.
        "import collections.abc, importlib, pathlib, re, time, typing; begun = time.process_time();"
        "from dgraph.networkx_backend.entry_points import backend, backend_info; backend_info();"
        "print(time.process_time() - begun)"
    )
    command = [sys.executable, "-c", code]
    seconds = [float(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout) for _ in range(3)]
    assert min(seconds) < 0.005
