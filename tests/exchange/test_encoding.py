import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import RunError
from dgraph.exchange.mail import HEADER, Encoding, choose_encoding, decode, encode
from dgraph.tables.vertex_arrays import rows_that_differ

FIELDS = [("<f8", 0), ("<i4", 0), ("|b1", 0), ("<u2", 3), ("<f4", 2), ("|u1", 0)]


@given(
    length=st.integers(1, 300),
    share=st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.99, 1.0]),
    fields=st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3),
    seed=st.integers(0, 99),
)
def test_decoding_returns_the_changed_values(length, share, fields, seed):
    random = np.random.default_rng(seed)
    changed = random.random(length) < share
    values = [random.integers(0, 2, (length, width) if width else length).astype(dtype) for dtype, width in fields]
    buffer = encode(changed, values)
    if not changed.any():
        assert buffer is None
        return
    positions, decoded = decode(buffer)
    np.testing.assert_array_equal(np.arange(length)[positions], np.flatnonzero(changed))
    for column, before in zip(decoded, values, strict=True):
        assert column.dtype == before.dtype
        np.testing.assert_array_equal(column, before[changed])


@pytest.mark.parametrize("length", [100, 65_536, 65_537])
def test_the_smallest_encoding_is_chosen(length):
    values = [np.arange(length, dtype=np.float64)]
    for count, expected in [(2, Encoding.INDEX), (length // 2, Encoding.BITMASK), (length, Encoding.DENSE)]:
        changed = np.zeros(length, bool)
        changed[-count:] = True
        buffer = encode(changed, values)
        assert HEADER.unpack_from(buffer)[0] == expected
        assert buffer.nbytes <= 64 + 8 * count + choose_encoding(length, count)[1]
        np.testing.assert_array_equal(decode(buffer)[1][0], values[0][changed])


@pytest.mark.parametrize("length", [65_536, 65_537, 131_072])
def test_positions_of_long_slices_come_back(length):
    changed = np.zeros(length, bool)
    changed[[0, 5, length - 1]] = True
    positions, (values,) = decode(encode(changed, [np.arange(length)]))
    assert positions.tolist() == values.tolist() == [0, 5, length - 1]


def test_no_mask_means_all():
    positions, (values,) = decode(encode(None, [np.arange(7)]))
    assert positions == slice(0, 7)
    assert values.tolist() == list(range(7))


def test_values_are_views_aligned_for_kernels():
    buffer = encode(np.arange(99) % 3 == 0, [np.arange(99, dtype=np.uint8), np.arange(99.0)])
    _, values = decode(buffer)
    assert all(np.shares_memory(v, buffer) and v.flags.aligned for v in values)


@pytest.mark.parametrize("damage", [lambda b: b[:-8], lambda b: b[:5], lambda b: np.full(64, 77, np.uint8)])
def test_a_damaged_buffer_is_an_error(damage):
    with pytest.raises(RunError, match="bytes"):
        decode(damage(encode(None, [np.arange(7)])))


@pytest.mark.parametrize("share", [0.02, 0.5, 0.95, 1.0])
def test_rows_choose_the_slice(share):
    values = [np.arange(500.0), np.arange(1000).reshape(500, 2)]
    rows = np.random.default_rng(1).permutation(500)[:300].astype(np.uint32)
    changed = np.arange(300) < share * 300
    positions, found = decode(encode(changed, values, rows))
    assert np.arange(300)[positions].tolist() == np.flatnonzero(changed).tolist()
    for column, all_values in zip(found, values, strict=True):
        np.testing.assert_array_equal(column, all_values[rows[changed]])


@pytest.mark.parametrize(("share", "all_of_it"), [(0.5, False), (0.95, True)])
def test_nearly_full_slices_are_sent_whole_if_exactness_is_not_required(share, all_of_it):
    changed = np.arange(300) < share * 300
    positions, (values,) = decode(encode(changed, [np.arange(300.0)], exact=False))
    assert (positions == slice(0, 300)) if all_of_it else (positions.tolist() == list(range(150)))
    assert values.tolist() == np.arange(300.0)[positions].tolist()


def test_rows_that_differ_from_given_values_are_found():
    arrays = [np.array([1.0, 2.0, 3.0]), np.array([[0, 0], [0, 1], [0, 0]])]
    assert rows_that_differ(arrays, [1.0, 0], 3).tolist() == [False, True, True]
    assert rows_that_differ(arrays, [np.array([1.0, 2.0, 4.0]), arrays[1]], 3).tolist() == [False, False, True]
    assert rows_that_differ([], [], 2).tolist() == [False, False]
