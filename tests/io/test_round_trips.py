"""Random edges come back equal from every format that can hold them, and hostile bytes raise only dgraph's errors."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dgraph.errors import DgraphError
from dgraph.io.edge_list import EdgeList
from dgraph.io.formats import FORMATS, counts_from_one, read_edge_list, write_edge_list

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # random text may have what looks like a header

SUFFIXES = [module.SUFFIXES[0] for module in FORMATS.values()]
OTHERS = [".tsv", ".txt", ".wel", ".e", ".properties"]  # which are read in another way than the first of their format
COUNTED = [suffix for suffix in SUFFIXES if counts_from_one(f"a{suffix}")]
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
INTEGERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9), st.sampled_from([-(2**63), 2**63 - 1, -(2**31), 2**32])
)
NATURALS = st.one_of(st.integers(0, 2**64 - 1), st.just(2**64 - 1))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9)
WORDS = st.text(st.sampled_from("abz_.:é文'0-"), min_size=1, max_size=6).map(lambda text: "w" + text)
WEIGHTS = st.one_of(st.floats(allow_nan=False), st.sampled_from([0.1, -0.0, 5e-324, 1.7976931348623157e308]))


def frames(ids, weights=None, min_size=0):
    row = st.tuples(ids, ids) if weights is None else st.tuples(ids, ids, weights)
    names = ["source", "destination", "weight"][: 2 if weights is None else 3]
    return st.lists(row, min_size=min_size, max_size=12).map(lambda rows: _frame(names, rows))


def _frame(names, rows):
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    huge = any(type(value) is int and value >= 2**63 for row in rows for value in row[:2])
    ids = pa.uint64() if huge else pa.string() if rows and type(rows[0][0]) is str else pa.int64()
    return pa.table({name: pa.array(columns[name], ids if name != "weight" else pa.float64()) for name in names})


def round_trip(edges, suffix, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graph{suffix}"
        write_edge_list(edges, path)
        return read_edge_list(path, **options)


def same(table, back):
    assert back.edges.num_rows == table.num_rows
    for name, found in zip(table.column_names, back.edges.column_names, strict=True):
        assert back.edges[found].to_pylist() == table[name].to_pylist()


@FEW
@given(frames(INTEGERS, WEIGHTS), st.sampled_from([".csv", ".tsv", ".txt", ".wel", ".parquet", ".npz"]))
def test_integers_and_weights_survive_a_round_trip(table, suffix):
    same(table, round_trip(EdgeList(table, "source", "destination", "weight"), suffix, weight="weight"))


@FEW
@given(frames(NATURALS, min_size=1), st.sampled_from([".csv", ".el", ".parquet", ".npz"]))
def test_unsigned_integers_survive_a_round_trip(table, suffix):
    same(table, round_trip(EdgeList(table, "source", "destination"), suffix))


@FEW
@given(
    frames(TEXTS, min_size=1), st.sampled_from([".csv", ".tsv", ".parquet", ".npz"]), st.sampled_from(["a", "source"])
)
def test_strings_of_any_characters_survive_a_round_trip(table, suffix, name):
    table = table.rename_columns([name, "target"])
    edges = EdgeList(table, name, "target")
    options = {"id_type": "string"} if suffix in (".csv", ".tsv") else {}
    same(table, round_trip(edges, suffix, **options))


@FEW
@given(frames(WORDS, WEIGHTS, min_size=1), st.sampled_from([".txt", ".wel", ".edges", ".e", ".csv"]))
def test_words_survive_a_round_trip(table, suffix):
    edges = EdgeList(table, "source", "destination", "weight", directed=True)
    same(table, round_trip(edges, suffix, weight="weight"))


def small(rows):
    return st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), rows), max_size=20)


def key(u, v, w, directed):
    return (u, v, w) if directed else (min(u, v), max(u, v), w)


@FEW
@given(small(st.integers(1, 99)), st.booleans(), st.sampled_from([*COUNTED, ".e", ".npz", ".parquet"]))
def test_numbered_vertices_survive_a_round_trip(rows, directed, suffix):
    if suffix == ".mtx" and not directed:
        rows = list({(min(u, v), max(u, v)): (u, v, w) for u, v, w in rows}.values())
    directed = directed and suffix != ".graph"
    columns = {
        name: np.array([row[k] for row in rows], np.int64) for k, name in enumerate(["source", "destination", "weight"])
    }
    edges = EdgeList(pd.DataFrame(columns), "source", "destination", "weight", directed, range(1, 10))
    back = round_trip(edges, suffix)
    vertices = back.vertices if isinstance(back.vertices, range) else back.vertices["id"].to_pylist()
    assert list(vertices) == list(range(1, 10))
    expected = [key(*row, directed) for row in rows]
    if suffix == ".gr" and not directed:
        expected = [arc for u, v, w in rows for arc in {(u, v, w), (v, u, w)}]
        directed = True
    assert back.directed is directed
    found = zip(*(back.edges[name].to_pylist() for name in ("source", "destination", "weight")), strict=True)
    assert sorted(key(*row, directed) for row in found) == sorted(expected)


HEADS = [
    b"", b"%%MatrixMarket matrix coordinate real general\n3 3 2\n",
    b"%%MatrixMarket matrix array integer symmetric\n2 2\n",
    b"3 2 1\n", b"3 2 111 2\n", b"p sp 3 2\n", b"% bip weighted\n% 2 3 3\n", b"source,target\n", b"PK\x03\x04", b"PAR1",
    b"%%MatrixMarket matrix coordinate pattern symmetric\n%%GraphBLAS type bool\n99999999999 99999999999 99999999999\n",
]  # fmt: skip
BODIES = st.one_of(
    st.binary(max_size=80), st.text(st.sampled_from('0123 \n\t,.-eaxn%#"c'), max_size=80).map(str.encode)
)


@pytest.mark.parametrize(
    "suffix", [*SUFFIXES, ".tsv", ".txt", ".wel", ".e", ".properties", ".gz", ".csv.zst", ".mtx.xz", ".unknown"]
)
def test_random_bytes_raise_only_errors_of_dgraph(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(HEADS), BODIES)
    def read(head, body):
        path.write_bytes(head + body)
        try:
            read_edge_list(path)
        except DgraphError as error:
            assert str(error)

    read()


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv.gz", ".csv.xz", ".csv.zst", ".csv.bz2"])
def test_changed_bytes_and_truncation_raise_only_errors_of_dgraph(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    table = pa.table({"source": list(range(40)), "destination": list(range(40)), "name": [f"n{i}" for i in range(40)]})
    write_edge_list(EdgeList(table, "source", "destination"), path)
    whole = path.read_bytes()

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, len(whole) - 1), st.integers(1, 255), st.booleans())
    def read(place, change, cut):
        torn = bytearray(whole)
        torn[place] ^= change
        path.write_bytes(bytes(torn[:place] if cut else torn))
        try:
            read_edge_list(path, columns="all")
        except DgraphError as error:
            assert str(error)

    read()
