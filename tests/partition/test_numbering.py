"""Ids to numbers and back: a number is the rank of an id among all ids in ascending order, however it is found."""

import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.building import numbering_tasks
from dgraph.cluster.workers import Workers
from dgraph.errors import IdError
from dgraph.partition.ids import id_tables
from dgraph.partition.ids.chunk import Chunk, chunk_of_edges, chunk_of_vertices
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.ids.numbering import Numbering
from dgraph.testing.strategies import KINDS, vertex_ids

LEAST, MOST = -(2**63), 2**63 - 1
IDS = {
    "dense": list(range(50)),
    "dense, not from 0": list(range(-20, 30)),
    "gaps": list(range(0, 3000, 7)),
    "negative": [-100, -1, 0, 64, 127],
    "sparse": [0, 10**9, 10**15, 10**18],
    "64-bit extremes": [LEAST, LEAST + 1, -1, 0, 2**53, 2**53 + 1, MOST - 1, MOST],
    "least alone": [LEAST],
    "most alone": [MOST - 1, MOST],
    "beyond 2**63": [0, 1, 2**63, 2**64 - 1],
    "all beyond 2**63": [2**64 - 3, 2**64 - 2, 2**64 - 1],
    "strings": ["", "01", "1", "A", "Z", "a", "aa", "z", "é", "\uffff", "😀"],
    "uuids": sorted([uuid.UUID(int=0), uuid.UUID(int=2**127), uuid.UUID(int=2**128 - 1), uuid.UUID(int=5)]),
}


def typed(values, like):
    """An array of ids in the type that all of them need."""
    if isinstance(like[0], int):
        return np.array(values, np.int64 if max(like) <= MOST else np.uint64)
    return np.array(values, object)


def chunk(ids, sources, destinations):
    pick = [typed([ids[k] for k in end], ids) for end in (sources, destinations)]
    return chunk_of_edges({"src": pick[0], "dst": pick[1]}, "src", "dst")


def number(chunks, vertices=(), listed=range(0)):
    known, numbered, rows = numbering_tasks.number_chunks(Workers(), chunks, list(vertices), listed)
    assert rows == [len(one) for one in chunks]
    return known, [one.compact() for one in numbered]


def check(known, ids):
    """The numbering of `ids`, which are in ascending order."""
    assert known.size == len(ids)
    assert list(known.id_type.restore(known.ids())) == ids
    assert list(known.id_type.restore(known.ids(1, len(ids) - 1))) == ids[1:-1]
    backwards = np.arange(len(ids))[::-1]
    assert list(known.id_type.restore(known.take(backwards))) == ids[::-1]
    vertices = chunk_of_vertices({"id": typed(ids[::-1], ids)}, "id")
    np.testing.assert_array_equal(known.number_of(vertices), backwards)
    assert [known.find(value) for value in ids] == list(range(len(ids)))
    for value in (LEAST - 1, 2**64, 13, -5, "nobody", uuid.UUID(int=77), None, 1.0, True):
        if value not in ids or isinstance(value, bool | float):
            with pytest.raises(IdError, match=r"has no vertex|is not an id"):
                known.find(value)


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("name", IDS)
def test_ids_of_every_kind_are_numbered_in_ascending_order(name, pieces):
    ids = IDS[name]
    draw = np.random.default_rng(0)
    order = draw.permutation(len(ids))
    ends = np.stack([np.concatenate([order, order]), draw.integers(0, len(ids), 2 * len(ids))])
    chunks = [chunk(ids, *some) for some in np.array_split(ends, pieces, axis=1)]
    known, numbered = number(chunks)
    check(known, ids)
    np.testing.assert_array_equal(np.concatenate([one.sources for one in numbered]), ends[0])
    np.testing.assert_array_equal(np.concatenate([one.destinations for one in numbered]), ends[1])


def test_dense_integers_need_no_table_of_ids():
    """Integers close together need no table, however far from zero; others do."""
    assert number([chunk([MOST - 1, MOST], [0], [1])])[0].ranks.is_dense
    assert not number([chunk([0, 2, 3], [0, 1], [1, 2])])[0].ranks.is_dense
    for name in ("sparse", "64-bit extremes", "beyond 2**63", "strings", "uuids"):
        assert number([chunk(IDS[name], [0, 1], [-1, 2])])[0].ranks is None


def test_an_unknown_id_is_an_error_that_names_an_existing_one():
    known, _ = number([chunk(["alice", "bob"], [0], [1])])
    with pytest.raises(IdError, match="no vertex 'carol'; it has 2 vertices, the first is 'alice'"):
        known.find("carol")
    with pytest.raises(IdError, match="7 is not an id of this graph, which has ids of kind string"):
        known.find(7)


def test_vertices_join_those_of_the_edges():
    edges = chunk([1, 5], [0], [1])
    assert list(number([edges], [chunk_of_vertices({"id": np.array([9, 5, 2])}, "id")])[0].ids()) == [1, 2, 5, 9]
    assert list(number([edges], listed=range(4))[0].ids()) == [0, 1, 2, 3, 5]
    assert list(number([edges], listed=range(7))[0].ids()) == list(range(7))
    assert list(number([chunk([10**15, 3], [0], [1])], listed=range(2, 5))[0].ids()) == [2, 3, 4, 10**15]
    with pytest.raises(IdError, match="convert"):
        number([chunk(["a"], [0], [0])], listed=range(4))


def test_source_and_destination_ids_get_a_common_type():
    frame = {"src": np.array([1, 2], np.int8), "dst": np.array([300, 1], np.uint16)}
    known, _ = number([chunk_of_edges(frame, "src", "dst")])
    assert known.id_type == IdType("integer", "int32")
    assert list(known.ids()) == [1, 2, 300]


def test_empty_chunks_go_with_any_kind():
    empty = chunk_of_edges({"src": [], "dst": []}, "src", "dst")
    for name in ("dense", "sparse", "beyond 2**63", "strings", "uuids"):
        known, numbered = number([empty, chunk(IDS[name], [0, 1], [-1, 2]), empty])
        assert known.size == len({0, 1, 2, len(IDS[name]) - 1})
        assert [len(one) for one in numbered] == [0, 2, 0]
    known, numbered = number([empty, empty])
    assert (known.size, known.id_type.kind, list(known.ids())) == (0, "none", [])
    with pytest.raises(IdError):
        known.find(0)


@pytest.mark.parametrize(
    "text",
    [
        pd.Series(pd.Categorical(["b", "a"], categories=["zzz", "b", "a"])),
        pa.array(["b", "a", "zzz"]).dictionary_encode().slice(0, 2),
        pa.chunked_array([pa.array(["b", "zzz"]).dictionary_encode().slice(0, 1), pa.array(["a"]).dictionary_encode()]),
    ],
    ids=["pandas", "Arrow", "Arrow, chunked"],
)
def test_unused_categories_are_not_vertices(text):
    known, _ = number([chunk_of_edges({"src": text, "dst": np.array(["a", "a"])}, "src", "dst")])
    assert list(known.id_type.restore(known.ids())) == ["a", "b"]


# -- tables in buckets -------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(data=st.data(), kind=st.sampled_from([kind for kind in KINDS if kind != "dense"]), buckets=st.integers(1, 5))
def test_numbering_in_buckets_equals_numbering_in_one_table(data, kind, buckets):
    """Ids merged in buckets get the numbers that one bucket gives, for every choice of chunks and splitters."""
    ids = sorted(data.draw(vertex_ids(kind, data.draw(st.integers(1, 12)))))
    ends = st.lists(st.integers(0, len(ids) - 1), max_size=10)
    chunks = [chunk(ids, end, end[::-1]) for end in (*data.draw(st.lists(ends, max_size=3)), range(len(ids)))]
    id_type = chunks[-1].id_type
    encoded = [id_tables.encode(one, id_type) for one in chunks]
    cuts = id_tables.splitters([id_tables.sample(one, size=4) for one in encoded], buckets)
    assert len(cuts) < buckets or buckets == 1
    pieces = [id_tables.split(one, cuts) for one in encoded]
    merged = [id_tables.merge([piece[b] for piece in pieces]) for b in range(len(cuts) + 1)]
    starts = np.concatenate([[0], np.cumsum([len(table) for table, _ in merged])]).tolist()
    known = Numbering(id_type, tables=[table for table, _ in merged])
    assert list(id_type.restore(known.ids())) == ids
    assert [known.find(value) for value in ids] == list(range(len(ids)))
    for c, (one, code) in enumerate(zip(chunks, encoded, strict=True)):
        numbered = id_tables.number_by_table(code, [ranks[c] for _, ranks in merged], starts)
        assert list(id_type.restore(known.take(numbered.sources))) == list(id_type.restore(one.sources)) or not len(one)
        np.testing.assert_array_equal(numbered.sources, numbered.destinations[::-1])


def test_waiting_chunks_are_stored_compactly():
    """What is read on workers is kept until the last was: text by code, integers in four bytes where they fit."""
    text, small, large = (
        chunk_of_edges({"src": ids, "dst": ids}, "src", "dst")
        for ids in (np.array(["a", "bc"] * 50, object), np.arange(100), np.arange(100) + 2**32)
    )
    for alone in (False, True):
        survey, waits = numbering_tasks.survey_and_pack(text, alone)
        assert (survey.rows, survey.edges) == (100, 100)
        assert [waits.distinct[code].as_py() for code in waits.codes[0]] == ["a", "bc"] * 50
        assert numbering_tasks.survey_and_pack(large, alone)[1] is large
    assert numbering_tasks.survey_and_pack(small, alone=False)[1] is small
    survey, waits = numbering_tasks.survey_and_pack(small, alone=True)
    assert (survey.low, survey.high, survey.id_type.dtype) == (0, 99, "int64")
    assert waits.id_type == small.id_type
    assert waits.sources.dtype == waits.destinations.dtype == np.uint32
    np.testing.assert_array_equal(waits.sources, small.sources)


@pytest.mark.parametrize("pieces", [[], [0], [5], [2, 0, 3], [1, 1, 1, 1, 1]])
def test_ids_in_chunked_arrow_arrays_are_encoded(pieces):
    """As Arrow's readers hand them out."""
    names = [f"name {k % 4}" for k in range(sum(pieces))]
    starts = np.cumsum([0, *pieces])
    column = pa.chunked_array([names[a : a + size] for a, size in zip(starts, pieces, strict=False)], pa.string())
    others = pa.array(names[::-1], pa.string())
    encoded = id_tables.encode(Chunk(IdType("string"), column, others), IdType("string"))
    found = [encoded.distinct.take(pa.array(codes)).to_pylist() for codes in encoded.codes]
    assert found == [names, names[::-1]]
    assert encoded.distinct.to_pylist() == sorted(set(names))


MADE = {
    "string": lambda n: f"{'é' * (n % 3)}{n}",
    "uuid": lambda n: uuid.UUID(int=n << 70),
    "integer": lambda n: n << 40,
}


@settings(max_examples=30)
@given(
    st.sampled_from(sorted(MADE)), st.sets(st.integers(0, 300), min_size=1), st.sets(st.integers(0, 300), min_size=1)
)
def test_places_in_sorted_tables(kind, known, wanted):
    arrow = {"string": pa.large_string(), "uuid": pa.binary(16), "integer": pa.int64()}[kind]
    held, asked = (sorted(map(MADE[kind], one)) for one in (known, wanted))
    table, ids = (pa.array([getattr(x, "bytes", x) for x in one], arrow) for one in ([held[0], *held], asked))
    found = id_tables.places_of(table.slice(1), ids)
    assert found.tolist() == [held.index(x) if x in held else -1 for x in asked]
    assert (id_tables.places_of(table.slice(0, 0), ids) == -1).all()


@pytest.mark.parametrize(
    ("ids", "listed", "expected"),
    [
        ([3, 4, 5], [5, 2, 6, 3, -1], [2, -1, -1, 0, -1]),
        ([3, 70, 200], [70, 4, 201, 3, 10**9, 200], [1, -1, -1, 0, -1, 2]),  # with gaps
        ([-(2**62), 7, 2**62], [7, 8, 2**62, -(2**62)], [1, -1, 2, 0]),  # in a table
        ([0, 1, 2], np.array([2**64 - 1, 2, 2**63], np.uint64), [-1, 2, -1]),
        (np.array([2**64 - 1, 5], np.uint64), [-1, 5], [-1, 0]),
        (["a", "b", "d"], ["d", "c", "a", "", "a"], [2, -1, 0, -1, 0]),
        (["a", "b", "d"], pd.Categorical(["d", "c", "d"]), [2, -1, 2]),
        (["a", "b", "d"], [1, 2], [-1, -1]),
        ([1, 2], ["1", "2"], [-1, -1]),
        ([uuid.UUID(int=1), uuid.UUID(int=9)], [uuid.UUID(int=9), uuid.UUID(int=2)], [1, -1]),
        ([uuid.UUID(int=1), uuid.UUID(int=9)], [str(uuid.UUID(int=9)), "x", str(uuid.UUID(int=2))], [1, -1, -1]),
        ([uuid.UUID(int=1)], ["x", ""], [-1, -1]),
        ([uuid.UUID(int=1)], pd.Categorical(["x", str(uuid.UUID(int=1))]), [-1, 0]),
    ],
)
def test_ids_that_the_graph_lacks_have_no_number(ids, listed, expected):
    numbering = dg.Graph.from_edges({"src": ids, "dst": ids}).numbering
    chunk = chunk_of_vertices({"id": listed}, "id")
    assert numbering.numbers_if_known(chunk).tolist() == expected
