"""What is encoded for all partitions at once is byte by byte what each would get alone, and is opened to the same."""

import pickle

import numpy as np
import pytest

import dgraph as dg
from dgraph.errors import RunError
from dgraph.exchange import proxy_post
from dgraph.exchange.bundle import Bundle, by_worker
from dgraph.exchange.bundle_decoding import ArrivedBuffers
from dgraph.exchange.bundle_encoding import AddressTable, FieldColumns, encode_lists, fit, measure
from dgraph.exchange.dask import pack, unpack
from dgraph.exchange.lane_frames import SIZE, frame_of, packet_of
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import FRAGMENT_BYTES, NEARLY_ALL, Encoding, Packet, Route, decode, encode
from dgraph.exchange.proxy_post import BROADCAST, NEVER, REDUCE, ProxyMail

VERTICES = 70_000
LISTS = [
    slice(10, 1000),
    np.array([5], np.uint32),
    slice(7, 8),
    np.arange(0, 2000, 3, dtype=np.uint32)[::-1],
    slice(0, VERTICES),  # positions of four bytes
    np.arange(1, 9000, dtype=np.uint32),
]
FIELDS = [
    lambda rng: rng.random(VERTICES),
    lambda rng: rng.integers(0, 100, VERTICES).astype(np.uint8),
    lambda rng: rng.integers(0, 100, VERTICES).astype(np.int32),
    lambda rng: rng.random((VERTICES, 3)).astype(np.float32),
    lambda rng: rng.random((VERTICES, 2)),
    lambda rng: rng.random(VERTICES) < 0.5,
]
SHARES = [0.0, 0.0001, 0.3, 0.95, 1.0]


def bundle_of(sizes, data, sender=0):
    rows = [(sender, receiver, 0, size) for receiver, size in enumerate(sizes.tolist()) if size]
    return Bundle(np.array(rows, np.int64), data)


@pytest.mark.parametrize("fields", [[], [0], [1, 2], range(6)], ids=str)
@pytest.mark.parametrize("share", [None, *SHARES])
@pytest.mark.parametrize("exact", [True, False])
def test_the_bytes_are_those_of_each_list_alone(fields, share, exact):
    rng = np.random.default_rng(1)
    arrays = [FIELDS[i](rng) for i in fields]
    mask = None if share is None else rng.random(VERTICES) < share
    assert fit(arrays)
    table, columns = AddressTable.of(LISTS), FieldColumns.of(arrays)
    measured = measure(table.rows, mask, 0, NEVER if exact else NEARLY_ALL, columns)
    data = encode_lists(table.rows, mask, 0, columns, measured, 7)
    data.flags.writeable = False
    bundle = bundle_of(measured.sizes, data)
    found = {receiver: buffer for receiver in range(len(LISTS)) for _, _, buffer in bundle.buffers(receiver)}
    for receiver, where in enumerate(LISTS):
        alone = encode(None if mask is None else mask[where], arrays, where, exact=exact)
        if alone is None:
            assert receiver not in found
            continue
        alone[2:4].view(np.uint16)[0] = 7
        same(found[receiver], alone)


def same(one, other):
    """All bytes but those of padding, which are those that `decode` reads."""
    assert one.nbytes == other.nbytes and (one[:24] == other[:24]).all()
    (positions, values), (expected, those) = decode(one), decode(other)
    np.testing.assert_array_equal(listed(positions), listed(expected))
    for found, value in zip(values, those, strict=True):
        assert found.dtype == value.dtype and found.tobytes() == value.tobytes()


def listed(positions):
    return np.arange(positions.stop) if isinstance(positions, slice) else positions


def test_a_mask_may_begin_with_the_proxies():
    rng, first = np.random.default_rng(2), 100
    array, mask, lists = rng.random(1000), rng.random(900) < 0.5, [slice(100, 400), slice(400, 1000)]
    table = AddressTable.of(lists)
    columns = FieldColumns.of([array])
    measured = measure(table.rows, mask, first, NEVER, columns)
    data = encode_lists(table.rows, mask, first, columns, measured, 0)
    for receiver, where in enumerate(lists):
        ((_, _, buffer),) = bundle_of(measured.sizes, data).buffers(receiver)
        same(buffer, encode(mask[where.start - first : where.stop - first], [array], where))


@pytest.mark.parametrize("share", [None, *SHARES[1:]])
def test_buffers_are_opened_together_as_each_alone(share):
    """By tag, sender and number, whatever the order of their arrival."""
    rng, parts = np.random.default_rng(3), len(LISTS)
    arrays = [FIELDS[i](rng) for i in (0, 3, 1)]
    bundles, expected = [], {}
    for sender in rng.permutation(parts).tolist():
        mask, here = (
            None if share is None else rng.random(VERTICES) < share,
            AddressTable.of(LISTS[sender : sender + 1]),
        )
        for number, tag in enumerate((2, 1)):
            columns = FieldColumns.of(arrays)
            measured = measure(here.rows, mask, 0, NEVER, columns)
            data = encode_lists(here.rows, mask, 0, columns, measured, tag)
            if measured.sizes[0]:
                bundles.append(Bundle(np.array([(sender, 9, number, measured.sizes[0])], np.int64), data))
                expected[tag, sender] = decode(data)
    arrived, begin, found = ArrivedBuffers(bundles, 9), 0, []
    lists = AddressTable.of(LISTS)
    while begin < len(arrived):
        tag = arrived.key(begin)[0]
        end = arrived.run(begin, None)
        ids, values, ends = arrived.open(begin, end, lists.rows)
        bounds = [0, *ends.tolist()]
        for place in range(begin, end):
            key, one = arrived.key(place), slice(*bounds[place - begin : place - begin + 2])
            found.append(key)
            positions, those = expected[key]
            where = LISTS[key[1]]
            local = np.arange(where.start, where.stop) if isinstance(where, slice) else where
            np.testing.assert_array_equal(ids[one], local[positions])
            for value, other in zip(values, those, strict=True):
                assert value.dtype == other.dtype
                np.testing.assert_array_equal(value[one], other)
        assert tag == found[-1][0]
        begin = end
    assert found == sorted(expected)
    assert len(ArrivedBuffers(bundles, 8)) == 0


def test_a_large_buffer_stands_between_small_ones():
    arrived = ArrivedBuffers([one_buffer(sender, tag) for sender in (4, 1, 2) for tag in (1, 2)], 0)
    assert [arrived.key(i) for i in range(6)] == [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)]
    assert arrived.run(0, None) == 3 and arrived.run(3, None) == 6
    assert arrived.run(0, (1, 3)) == 2 and arrived.run(2, (1, 5)) == 3
    assert arrived.run(0, (2, 1)) == 3 and arrived.run(3, (2, 1)) == 4


def one_buffer(sender, tag, receiver=0, values=3, number=0):
    buffer = encode(None, [np.arange(values)])
    buffer[2:4].view(np.uint16)[0] = tag
    return Bundle(np.array([(sender, receiver, number, buffer.nbytes)], np.int64), buffer)


@pytest.mark.parametrize(
    "change", ["shorter", "encoding", "count", "fields", "type", "kinds", "positions", "bits", "list"]
)
def test_damaged_buffers_are_errors(change):
    changed = np.zeros(1000, bool)
    changed[[1, 500] if change == "positions" else range(0, 1000, 2)] = True
    buffer = encode(changed, [np.arange(1000.0)])
    sound = encode(changed, [np.arange(1000.0)])
    if change == "shorter":
        buffer = buffer[:-8]
    elif change == "encoding":
        buffer[0] = 3
    elif change == "count":
        buffer[16:24].view(np.uint64)[0] = 1 << 63
    elif change == "fields":
        buffer[4:8].view(np.uint32)[0] = 1 << 20
    elif change == "type":
        buffer[24:32] = np.frombuffer(b"<O8\0\0\0\0\0", np.uint8)
    elif change == "kinds":
        buffer[24:32] = np.frombuffer(b"<i8\0\0\0\0\0", np.uint8)
    elif change == "positions":
        buffer[32:34].view(np.uint16)[0] = 1000
    elif change == "bits":
        buffer[32] ^= 1
    elif change == "list":
        buffer[8:16].view(np.uint64)[0] = 1001
    lists = AddressTable.of([slice(0, 1000)] * 2)
    both = [(sender, 0, 0, one.nbytes) for sender, one in enumerate((sound, buffer))]
    with pytest.raises(RunError, match=r"run again|same version"):
        arrived = ArrivedBuffers([Bundle(np.array(both, np.int64), np.concatenate([sound, buffer]))], 0)
        arrived.open(0, arrived.run(0, None), lists.rows)


def test_a_buffer_of_an_unknown_sender_is_an_error():
    arrived = ArrivedBuffers([one_buffer(5, 1)], 0)
    with pytest.raises(RunError, match="from partition 5"):
        arrived.open(0, 1, AddressTable.of([slice(0, 3)]).rows)


def test_buffers_are_sorted_out_by_worker():
    homes = np.array([0, 1, 2, 1, 0])
    rows = [(sender, receiver, number, 8 * sender) for sender in (3, 1) for receiver in range(5) for number in (0, 1)]
    data = np.concatenate([np.full(size, 10 * s + r, np.uint8) for s, r, _, size in rows])
    bundles = [
        Bundle(np.array(rows[:7], np.int64), data[: 24 * 7]),
        Bundle(np.array(rows[7:], np.int64), data[24 * 7 :]),
    ]
    found = by_worker(bundles, homes, 4, 0)
    assert set(found) == {1, 2}
    for worker, receivers in {1: (1, 3), 2: (2,)}.items():
        bundle = found[worker]
        assert sorted(map(tuple, bundle.table.tolist())) == sorted(row for row in rows if row[1] in receivers)
        for receiver in receivers:
            got = list(bundle.buffers(receiver))
            assert sorted((sender, number) for sender, number, _ in got) == [(1, 0), (1, 1), (3, 0), (3, 1)]
            assert all((buffer == 10 * sender + receiver).all() for sender, _, buffer in got)
    assert by_worker(bundles, np.zeros(5, np.int64), 1, 0) == {}


def test_bundles_travel_as_bytes_and_are_checked():
    one, other = one_buffer(1, 2), one_buffer(3, 4, values=1)
    both = Bundle.of([one, other])
    message = Packet("r", 1, 0, 0, [], bundle=both)
    frame = frame_of(message, b"")[SIZE.size :]
    arguments = pack(message)
    ways = [packet_of(bytearray(frame)).bundle, pickle.loads(pickle.dumps(both))]
    ways.append(
        unpack(**{**arguments, "bundle": [bytes(part) for part in arguments["bundle"].frames], "frames": []}).bundle
    )
    for found in ways:
        np.testing.assert_array_equal(found.table, both.table)
        np.testing.assert_array_equal(found.data, both.data)
        assert found.place == (found.table.ctypes.data, 2, found.data.ctypes.data) and found.data.ctypes.data % 8 == 0
    damaged = bytearray(frame)
    damaged[-both.data.nbytes - 8 : -both.data.nbytes] = (1 << 40).to_bytes(8, "little")
    with pytest.raises(RunError, match="malformed"):
        packet_of(damaged)


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize("side", ["in", "out", "any"])
def test_small_and_large_buffers_are_collected_in_one_order(monkeypatch, side, joined):
    held = dg.rmat(scale=8, edge_factor=4, seed=2, parts=6, policy="cartesian").partitioned(("out", "incoming")).held
    found = {}
    for small in (0, 300, 1 << 30):  # bytes: none are, some, and all
        monkeypatch.setattr(proxy_post, "SMALL_BUFFER", small)
        ends = LocalExchange.ends(Route("run", tuple("abcdef"), tuple(range(6))))
        posts = [ProxyMail(end, one) for end, one in zip(ends, held, strict=True)]
        alone = 0
        for post in posts:
            rng = np.random.default_rng(post.partition.index)
            values, mask = rng.random(post.partition.num_local), rng.random(post.partition.num_local) < 0.7
            post.step = 1
            monkeypatch.setattr(post.exchange, "send", counting(post.exchange.send, counts := []))
            post.reduce(side, [values], mask)
            post.broadcast(BROADCAST, side, [values, -values], mask)
            alone += len(counts)
        assert (alone == sum(post.buffers for post in posts)) == (not small) and (alone == 0) == (small > 300)
        for end in ends:
            end.flush(1, {}, share=True)
        for post in posts:
            post.step = 2
        mail = [list(post.collect({REDUCE: side, BROADCAST: side}, joined=joined)) for post in posts]
        found[small] = [(one.tag, one.locals.tolist(), np.array(one.values).tolist()) for some in mail for one in some]
        assert found[small] == found[0]
        assert found[0]


def counting(function, calls):
    def counted(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return counted


def test_a_packet_that_is_full_is_posted_early():
    ends = LocalExchange.ends(Route("run", ("a", "b"), (0, 1, 1)))
    data = np.zeros(FRAGMENT_BYTES // 2 + 8, np.uint8)
    for _ in range(4):
        ends[0].send_bundle(0, 0, np.array([1]), np.array([data.nbytes]), data)
    assert ends[0].flush(0, {}, share=True).messages == (0, 4)
    ends[1].flush(0, {}, share=True)
    assert [sender for sender, _ in ends[1].collect(0, 1)] == [0] * 4
    assert ends[1].collect(0, 1) == [] and ends[1].collect(0, 2) == []


def test_buffers_for_a_partition_here_do_not_travel():
    (end,) = LocalExchange.ends(Route("run", ("a",), (0, 0)))
    end.send_bundle(0, 0, np.array([1]), np.array([3]), np.arange(8, dtype=np.uint8))
    assert end.flush(0, {}, share=True).messages == (0,)
    ((sender, buffer),) = end.collect(0, 1)
    assert sender == 0 and buffer.tolist() == [0, 1, 2]
    assert {Encoding.DENSE, Encoding.BITMASK, Encoding.INDEX} == {0, 1, 2}  # which the kernels repeat
