"""The radix build against a stable argsort: the same rows, neighbours and columns, in the same order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.native import threads
from dgraph.partition import adjacency
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.ids.bitmaps import Ranks, bitmap

DTYPES = ["bool", "int16", "float32", "float64"]  # of 1, 2, 4 and 8 bytes: each compiles kernels of its own


def check(edges, num_rows, workers=1):
    """Build, and compare with NumPy's stable sort of all slices in a row."""
    found = build(edges, num_rows, workers=workers)
    numbered = [(one.ranks.number(one.keys), one.ranks.number(one.others)) for one in edges]
    keys, others = (np.concatenate(ends) for ends in zip(*numbered, strict=True))
    kept = ~np.concatenate([one.skip_loops & (one.keys == one.others) for one in edges])
    order = np.flatnonzero(kept)[np.argsort(keys[kept], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(keys[kept], minlength=num_rows))])
    np.testing.assert_array_equal(found.indptr, indptr)
    np.testing.assert_array_equal(found.neighbours, others[order])
    np.testing.assert_array_equal(found.rows(), keys[order])
    assert list(found.columns) == list(edges[0].columns)
    for name, column in found.columns.items():
        np.testing.assert_array_equal(column, np.concatenate([one.columns[name] for one in edges])[order])
    assert found.num_edges == len(order)
    return found


def random_slice(draw, num_rows, size, *, skewed=False, dtypes=DTYPES, **options):
    keys = (num_rows * draw.random(size) ** (9 if skewed else 1)).astype(np.uint32)
    others = draw.integers(0, num_rows, size).astype(np.uint32)
    columns = {name: draw.integers(0, 2, size).astype(name) for name in dtypes}
    if "float64" in columns:
        columns["float64"] = np.arange(float(size))
    return EdgeSlice(keys, others, columns, **options)


@settings(max_examples=60)
@given(
    num_rows=st.sampled_from([1, 2, 511, 512, 513, 1024, 5000]),
    sizes=st.lists(st.integers(0, 200), min_size=1, max_size=4),
    skips=st.lists(st.booleans(), min_size=4, max_size=4),
    skewed=st.booleans(),
    workers=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_the_build_matches_a_stable_sort(num_rows, sizes, skips, skewed, workers, seed):
    draw = np.random.default_rng(seed)
    slices = [
        random_slice(draw, num_rows, size, skewed=skewed, skip_loops=skip)
        for size, skip in zip(sizes, skips, strict=False)
    ]
    check(slices, num_rows, workers)


@settings(max_examples=40)
@given(size=st.integers(0, 60), rows=st.integers(1, 9), seed=st.integers(0, 2**32), weighted=st.booleans())
def test_rows_are_sorted_by_the_numbers_of_the_neighbours(size, rows, seed, weighted):
    """Whatever order the edges are listed in, and whatever their local ids are."""
    draw = np.random.default_rng(seed)
    numbers = draw.permutation(1000)[:rows]
    ends = draw.integers(0, rows, (size, 2)).astype(np.uint32)
    columns = {"a": draw.integers(0, 3, size) / 2, "b": draw.integers(0, 3, size)} if weighted else {}
    expected = sorted(zip(ends[:, 0], numbers[ends[:, 1]], *columns.values(), strict=True))
    for order in (np.arange(size), draw.permutation(size)):
        shuffled = {name: values[order] for name, values in columns.items()}
        found = build([EdgeSlice(ends[order, 0], ends[order, 1], shuffled)], rows).in_order_of(numbers)
        assert sorted(expected) == [*zip(found.rows(), numbers[found.neighbours], *found.columns.values(), strict=True)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("num_rows", [3, 700, 100_000])
def test_a_build_on_several_threads_matches_a_stable_sort(num_rows, skewed, workers):
    draw = np.random.default_rng(1)
    slices = [
        random_slice(draw, num_rows, size, skewed=skewed, dtypes=["float64", "bool"])
        for size in (3 * threads.FEWEST_ENTRIES, 0, threads.FEWEST_ENTRIES + 17)
    ]
    check(slices, num_rows, workers)


def test_buckets_may_hold_more_than_65536_rows(monkeypatch):
    monkeypatch.setattr(adjacency, "BUCKETS", 1)
    check([random_slice(np.random.default_rng(1), 2**17 + 1, 1000, dtypes=["bool"])], 2**17 + 1)


def test_all_edges_may_be_in_one_row():
    draw = np.random.default_rng(2)
    one = random_slice(draw, 100_000, 3 * threads.FEWEST_ENTRIES)
    one.keys[:] = 99_999
    check([one], 100_000, workers=2)


@pytest.mark.parametrize("dtype", ["int16", "int64", "uint64"])
@pytest.mark.parametrize("workers", [1, 2])
def test_ids_are_read_through_ranks(dtype, workers):
    draw = np.random.default_rng(3)
    ids = draw.integers(5, 30_000, (2, 3 * threads.FEWEST_ENTRIES)).astype(dtype)
    low, high = int(ids.min()), int(ids.max())
    ranks = Ranks.of_bitmap(low, bitmap(list(ids), low, high))
    assert not ranks.is_dense or ranks.size == high - low + 1
    check([EdgeSlice(ids[0], ids[1], {}, ranks, skip_loops=True)], ranks.size, workers)
    offset = Ranks(low, high - low + 1)
    check([EdgeSlice(ids[0], ids[1], {}, offset)], offset.size, workers)


def test_columns_of_slices_get_a_common_type():
    ends = np.zeros(1, np.uint32)
    slices = [EdgeSlice(ends, ends, {"w": np.array([value])}) for value in (np.int32(7), np.float64(0.5))]
    assert build(slices, 1).columns["w"].tolist() == [7.0, 0.5]


@pytest.mark.parametrize("num_rows", [0, 1, 10_000])
def test_a_build_without_edges_has_empty_rows(num_rows):
    for slices in ([], [EdgeSlice(np.empty(0, np.uint32), np.empty(0, np.uint32), {"w": np.empty(0)})]):
        found = build(slices, num_rows)
        assert found.indptr.tolist() == [0] * (num_rows + 1)
        assert found.num_edges == 0


@settings(max_examples=60)
@given(num_rows=st.integers(1, 600), size=st.integers(0, 400), seed=st.integers(0, 2**32))
def test_transposing_sorts_the_rows_of_the_other_direction(num_rows, size, seed):
    """The other direction has the same edges, rows of ascending neighbours; twice is the stable sort by both ends."""
    one = build([random_slice(np.random.default_rng(seed), num_rows, size)], num_rows)
    other = one.transposed()
    order = np.lexsort((one.rows(), one.neighbours))
    np.testing.assert_array_equal(other.rows(), one.neighbours[order])
    np.testing.assert_array_equal(other.neighbours, one.rows()[order])
    for name in DTYPES:
        np.testing.assert_array_equal(other.columns[name], one.columns[name][order])
    twice = other.transposed()
    np.testing.assert_array_equal(twice.indptr, one.indptr)
    both = np.lexsort((one.neighbours, one.rows()))
    np.testing.assert_array_equal(twice.neighbours, one.neighbours[both])
    assert one.nbytes == other.nbytes


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_transposing_in_slices_keeps_the_order_and_columns(workers):
    """A slice begins and ends within a row; most rows are empty, and one is long."""
    draw = np.random.default_rng(5)
    size, num_rows = 4 * threads.FEWEST_ENTRIES + 7, 60_000
    ends = draw.integers(0, num_rows // 4, (2, size)) * 4
    ends[0, : size // 2] = 12_000
    one = build([EdgeSlice(ends[0], ends[1], {"w": draw.random(size), "t": draw.integers(0, 9, size)})], num_rows)
    found = one.transposed(workers, columns=["w"])
    order = np.lexsort((one.rows(), one.neighbours))
    np.testing.assert_array_equal(found.rows(), one.neighbours[order])
    np.testing.assert_array_equal(found.neighbours, one.rows()[order])
    np.testing.assert_array_equal(found.columns["w"], one.columns["w"][order])
    assert list(found.columns) == ["w"]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("num_rows", "sizes"), [(1, (0, 0)), (5, (9, 0)), (300, (2000, 700)), (200_000, (50_000, 90_000))]
)
def test_joining_two_tables_equals_building_from_both(num_rows, sizes, workers):
    draw = np.random.default_rng(8)
    edges = [random_slice(draw, num_rows, size, skewed=True, dtypes=["int64", "float64"]) for size in sizes]
    first, second = (build([one], num_rows) for one in edges)
    found, expected = first.joined(second, ["float64"], workers), build(edges, num_rows)
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.neighbours, expected.neighbours)
    np.testing.assert_array_equal(found.columns["float64"], expected.columns["float64"])
    assert list(found.columns) == ["float64"]
    assert found.neighbours.dtype == expected.neighbours.dtype


def test_nested_parallel_maps_do_not_deadlock():
    """Else all would wait for one that is free."""
    nested = threads.parallel_map(
        lambda i: threads.parallel_map(lambda j: (i, j), range(3)), range(2 * threads.cores())
    )
    assert nested == [[(i, j) for j in range(3)] for i in range(2 * threads.cores())]
