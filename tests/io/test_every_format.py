"""Laws of every file format, new ones included: it is registered, and a graph comes back equal or is refused."""

import inspect
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from dgraph.errors import DgraphError, FileError
from dgraph.io.columnar.arrow_tables import vertex_ids
from dgraph.io.edge_list import EdgeList
from dgraph.io.formats import FORMATS, read_edge_list, write_edge_list

ROOT = Path(__file__).parents[2]
SUFFIX = {name: ".e" if name == "graphalytics" else module.SUFFIXES[0] for name, module in FORMATS.items()}


def missing(name: str, module: object) -> list[str]:
    """What the project lacks for a format, one file per line."""
    suffixes = getattr(module, "SUFFIXES", (".?",))
    page = (ROOT / "docs/files.md").read_text().split("## Formats")[1].split("\n### ")[0]
    rows = [set(re.findall(r"`(\.\w+)`", row)) for row in page.splitlines() if row.startswith("|")]
    seeds = (ROOT / "tests/support/seeds.py").read_text()
    code = inspect.getsourcefile(module) if inspect.ismodule(module) else f"dgraph/io/text/{name}.py"
    found = {
        f"{code}: SUFFIXES, read and write": all(hasattr(module, part) for part in ("SUFFIXES", "read", "write")),
        f"docs/files.md: a row with {' '.join(suffixes)} in the table of formats": {*suffixes} in rows,
        "tests/support/seeds.py: small valid files, in BY_HAND": any(f'"{suffix}"' in seeds for suffix in suffixes),
    }
    return [what for what, there in found.items() if not there]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_registered_everywhere(name):
    lacking = missing(name, FORMATS[name])
    assert not lacking, f"{name} is missing in:\n  " + "\n  ".join(lacking)


def test_every_missing_file_is_named():
    assert [line.split(":")[0] for line in missing("nothing", SimpleNamespace(read=None))] == [
        "dgraph/io/text/nothing.py",
        "docs/files.md",
        "tests/support/seeds.py",
    ]


def test_no_two_formats_share_a_suffix():
    suffixes = [suffix for module in FORMATS.values() for suffix in module.SUFFIXES]
    assert len(suffixes) == len({*suffixes})


@pytest.mark.parametrize("suffix", [*SUFFIX.values(), ".xyz"])
def test_empty_files_are_refused(put, suffix):
    with pytest.raises(FileError, match="empty"):
        read_edge_list(put("a" + suffix, b""))


GRAPHS = {
    "numbers from 1": {"source": [1, 2, 3], "destination": [2, 3, 1]},
    "numbers from 0": {"source": [0, 1, 2], "destination": [1, 2, 0]},
    "strings": {"source": ["a", "b", "c"], "destination": ["b", "c", "a"]},
    "strings with blanks": {"source": ["a b", "b", "c"], "destination": ["b", "c", "a b"]},
    "strings with line ends": {"source": ["a\nb", "b", "c"], "destination": ["b", "c", "a\nb"]},
}


def round_trip(name: str, edge_list: EdgeList, folder: Path) -> EdgeList | None:
    """What is read from the file that is written; None if the format refuses to write it."""
    path = folder / f"a{SUFFIX[name]}"
    try:
        write_edge_list(edge_list, path)
    except DgraphError:
        assert not list(folder.iterdir()), "a refused write left a file"
        return None
    return read_edge_list(path, weight=True if edge_list.weight else None)


def rows(edges: EdgeList | pa.Table) -> list[tuple]:
    if isinstance(edges, EdgeList):
        edges = edges.edges.select([edges.source, edges.destination, *([edges.weight] if edges.weight else [])])
    return sorted(zip(*edges.to_pydict().values(), strict=True))


@pytest.mark.parametrize("weights", [None, [3, 1, 2], [0.5, 1.5, 1e-300]], ids=["unweighted", "whole", "fractions"])
@pytest.mark.parametrize("ids", GRAPHS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_graph_comes_back_equal_or_is_refused(name, ids, weights, tmp_path):
    table = pa.table(GRAPHS[ids] if weights is None else GRAPHS[ids] | {"weight": weights})
    weight = None if weights is None else "weight"
    back = round_trip(name, EdgeList(table, "source", "destination", weight, True), tmp_path)
    assert back is None or rows(back) == rows(table)
    assert back is None or back.directed in (True, None)


@pytest.mark.parametrize("name", FORMATS)
def test_undirected_edges_come_back_so_or_are_refused(name, tmp_path):
    table = pa.table(GRAPHS["numbers from 1"] | {"weight": [3, 1, 2]})
    back = round_trip(name, EdgeList(table, "source", "destination", "weight", False), tmp_path)
    if back and back.directed is True:  # then each edge must be listed both ways
        assert rows(back) == sorted(arc for u, v, w in rows(table) for arc in ((u, v, w), (v, u, w)))
    elif back:
        assert sorted((min(u, v), max(u, v), w) for u, v, w in rows(back)) == [(1, 2, 3), (1, 3, 2), (2, 3, 1)]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("directed", [True, False])
def test_isolated_vertices_come_back_or_are_refused(name, directed, tmp_path):
    table = pa.table(GRAPHS["numbers from 1"] | {"weight": [3, 1, 2]})
    back = round_trip(name, EdgeList(table, "source", "destination", "weight", directed, range(1, 5)), tmp_path)
    assert back is None or vertex_ids(back.vertices, name, name, "").to_pylist() == [1, 2, 3, 4]


@pytest.mark.parametrize("vertices", [range(1, 5), pa.table({"id": [1, 2, 3, 4]})], ids=["range", "table"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", FORMATS)
def test_isolated_vertices_can_be_left_out_where_they_are_refused(name, directed, vertices, tmp_path):
    """`drop_isolated` writes each graph that could be written without them."""
    edge_list = EdgeList(pa.table(GRAPHS["numbers from 1"]), "source", "destination", None, directed)
    path = tmp_path / f"a{SUFFIX[name]}"
    try:
        write_edge_list(edge_list, path)
    except DgraphError:
        return  # the format cannot hold the direction
    expected = rows(read_edge_list(path, weight=None))
    try:
        write_edge_list(replace(edge_list, vertices=vertices), path, drop_isolated=True)
    except DgraphError as error:
        pytest.fail(f"{FORMATS[name].__name__} needs ONLY_EDGES = True: {error}")
    assert rows(read_edge_list(path, weight=None)) == expected
