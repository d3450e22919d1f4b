"""Lanes carry packets whole, in order, from whoever knows the secret, and tell when they cannot."""

import asyncio
import socket
import sys
import threading

import numpy as np
import pytest
from mixing import wait_until

from dgraph.errors import RunError
from dgraph.exchange.dask import ExchangeOnWorker
from dgraph.exchange.free_mail import FREE
from dgraph.exchange.lane_frames import MOST_BYTES, SIZE, frame_of, packet_of, pickled
from dgraph.exchange.lanes import Lanes
from dgraph.exchange.mail import PASSED_ON, Fragment, Packet, Route, Token

RUN = "0123456789abcdef0123456789abcdef"
HOST = "127.0.0.1"


def fragment(number: int, size: int) -> Fragment:
    return Fragment(3, 4, number, 2 * size, size, np.arange(size).astype(np.uint8))


def same(one: Packet, other: Packet) -> bool:
    pairs = zip(one.fragments, other.fragments, strict=True)
    alike = all(a[:5] == b[:5] and (a.data == b.data).all() and b.data.dtype == np.uint8 for a, b in pairs)
    return one._replace(fragments=[]) == other._replace(fragments=[]) and alike


@pytest.mark.parametrize("sizes", [(), (0,), (7,), (8, 0, 13), (1000, 3, 3)], ids=str)
@pytest.mark.parametrize("token", [(), ((2, 0), {"sum": np.float64(2.5)}, 0.25)], ids=bool)
@pytest.mark.parametrize("run", [RUN, "", "dreißig"])
def test_frames_hold_packets(sizes, token, run):
    token = Token(run, FREE, 1, *token) if token else None
    packet = Packet(run, FREE, 1, 1 << 40, [fragment(i, size) for i, size in enumerate(sizes)], token)
    frame = frame_of(packet, pickled(packet))
    assert SIZE.unpack_from(frame)[0] == len(frame) - SIZE.size
    found = packet_of(bytearray(frame[SIZE.size :]))
    assert same(packet, found)
    assert all(one.data.ctypes.data % 8 == 0 and one.data.flags.writeable for one in found.fragments if one.data.size)


def test_frames_hold_the_tokens_of_a_row():
    row = tuple(Token(RUN, 3, worker, (0, 1, 2), {"edges": worker}, 0.5) for worker in (4, 5, 6))
    packet = Packet(RUN, 3, 5, PASSED_ON, [fragment(0, 9)], row=row)
    assert same(packet, packet_of(bytearray(frame_of(packet, pickled(packet))[SIZE.size :])))


def test_large_packets_and_those_on_devices_take_another_way():
    assert frame_of(Packet(RUN, 1, 0, 0, [fragment(0, MOST_BYTES)]), b"") is not None
    assert frame_of(Packet(RUN, 1, 0, 0, [fragment(0, MOST_BYTES), fragment(1, 1)]), b"") is None
    assert frame_of(Packet(RUN, 1, 0, 0, [Fragment(0, 1, 0, 8, 0, memoryview(b"12345678"))]), b"") is None


def test_damaged_frames_are_errors():
    frame = frame_of(Packet(RUN, 1, 0, 0, [fragment(0, 20)]), b"")[SIZE.size :]
    unreadable = frame_of(Packet(RUN, 1, 0, 0, [], Token(RUN, 1, 0, ())), b"no pickle")[SIZE.size :]
    for damaged in (
        unreadable,
        frame[:-1],
        frame[:40],
        frame[:3],
        frame + b"1",
        frame[:20] + b"\xff\xff" + frame[22:],
    ):
        with pytest.raises(RunError, match="malformed"):
            packet_of(bytearray(damaged))


class Loop:
    """An event loop in a thread, as a worker has one, and the packets that arrive there."""

    def __enter__(self):
        self.loop, self.packets, self.ways = asyncio.new_event_loop(), [], {}
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.arrived = threading.Semaphore(0)
        self.lost = []
        self.lanes = Lanes(HOST, self.loop, self.take, self.ask, self.lost.append)
        return self

    def take(self, frame):
        self.packets.append(packet_of(frame))
        self.arrived.release()

    async def ask(self, address):
        return self.ways.get(address)

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    def idle(self):
        """Wait until what was asked of the loop is done."""

        async def openings():
            while self.lanes._openings:
                await asyncio.sleep(0.001)

        self.call(asyncio.sleep(0))
        self.call(openings())

    def __exit__(self, *error):
        async def close():
            self.lanes.close()

        self.call(close())
        self.call(asyncio.sleep(0.01))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


@pytest.fixture(params=["Unix", "TCP"])
def two(request):
    with Loop() as here, Loop() as there:
        host, port, name, secret = there.call(there.lanes.way())
        assert bool(name) == (sys.platform == "linux")
        here.ways["there"] = host, port, name if request.param == "Unix" else "", secret
        yield here, there


def opened(here):
    """The frame of a packet that was refused at first, because the lane was not open yet."""
    frame = frame_of(Packet(RUN, 1, 0, 0, [fragment(0, 20)]), b"")
    assert not here.lanes.send("there", frame)
    here.idle()
    return frame


def test_packets_arrive_in_order(two):
    here, there = two
    opened(here)
    packets = [Packet(RUN, 1, 0, number, [fragment(number, number)]) for number in range(200)]
    assert all(here.lanes.send("there", frame_of(one, b"")) for one in packets)
    assert all(there.arrived.acquire(timeout=10) for _ in packets)
    assert all(map(same, packets, there.packets))


def test_what_the_system_does_not_take_is_sent_later(two):
    here, there = two
    opened(here)
    blocked = threading.Event()
    there.loop.call_soon_threadsafe(blocked.wait, 10)  # reads nothing meanwhile
    packets = [Packet(RUN, 1, 0, number, [fragment(0, MOST_BYTES)]) for number in range(100)]
    assert all(here.lanes.send("there", frame_of(one, b"")) for one in packets)
    assert here.lanes._out["there"]._rest
    blocked.set()
    assert all(there.arrived.acquire(timeout=10) for _ in packets)
    assert all(map(same, packets, there.packets))


@pytest.mark.parametrize("end", ["here", "there"])
def test_a_broken_lane_is_told_of_and_opened_again(two, end):
    here, there = two
    opened(here)

    async def hang_up():
        for line in there.lanes._in:
            line.abort()

    if end == "here":
        here.lanes._out["there"].line.shutdown(socket.SHUT_RDWR)
    else:
        there.call(hang_up())
    wait_until(lambda: here.lost == ["there"])
    assert not here.lanes._out
    frame = opened(here)
    assert here.lanes.send("there", frame)
    assert there.arrived.acquire(timeout=10)
    assert here.lost == ["there"]


class RunEnd:
    """A worker's end of a run, which remembers what it is given."""

    def __init__(self, run, error=None):
        self.route, self.error, self.packets, self.failed = Route(run, ("there",), (0,)), error, [], []

    def take(self, packet):
        if self.error is not None:
            raise self.error
        self.packets.append(packet)

    def fail(self, error):
        self.failed.append(error)


def test_a_worker_gives_packets_to_their_runs_and_fails_those_that_errors_concern():
    plugin, full = ExchangeOnWorker(), MemoryError("full")
    one, other = RunEnd(RUN), RunEnd("other", full)
    plugin.ends = {RUN: one, "other": other}
    packets = [Packet(run, 1, 0, 0, [fragment(0, 20)]) for run in (RUN, "other", "over")]
    for packet in packets:
        plugin.arrived(bytearray(frame_of(packet, b"")[SIZE.size :]))
    assert same(packets[0], *one.packets) and not one.failed
    assert other.failed == [full]
    plugin.arrived(bytearray(b"123"))  # whose it was cannot be known
    for end in (one, other):
        with pytest.raises(RunError, match="malformed"):
            raise end.failed[-1]
    assert len(one.failed) == 1 and len(other.failed) == 2


def test_who_only_connects_is_no_lane(monkeypatch):
    """A proxy may take connections, and pass nothing on."""
    monkeypatch.setattr("dgraph.exchange.lanes.OPENING_SECONDS", 0.1)
    with Loop() as here, socket.create_server((HOST, 0)) as proxy:
        here.ways["there"] = HOST, proxy.getsockname()[1], "", bytes(32)
        opened(here)
        assert not here.lanes._out and not here.lost
        assert not here.lanes.send("there", b"1234") and not here.lanes._openings, "not again so soon"


def test_a_door_waits_for_the_secret_only_so_long(two, monkeypatch):
    monkeypatch.setattr("dgraph.exchange.lanes.OPENING_SECONDS", 0.05)
    _, port, *_ = two[0].ways["there"]
    with socket.create_connection((HOST, port)) as line:
        assert line.recv(1) == b""


def test_closed_lanes_stay_closed(two):
    here, there = two
    opened(here)

    async def close():
        there.lanes.close()

    there.call(close())
    wait_until(lambda: not here.lanes._out)
    assert there.call(there.lanes.way()) is None
    assert not there.lanes.send("here", b"") and not there.lanes._openings


def test_only_who_knows_the_secret_is_heard(two):
    here, there = two
    host, port, name, secret = here.ways["there"]
    unix = socket.socket(socket.AF_UNIX) if name else None
    if unix is not None:
        unix.connect("\0" + name)
    with unix or socket.create_connection((host, port)) as line:
        line.sendall(bytes(len(secret)) + frame_of(Packet(RUN, 1, 0, 0, []), b""))
        assert line.recv(1) == b""  # it hangs up
    assert not there.packets


def test_where_no_lane_can_be_opened_nothing_is_sent(two):
    here, _ = two
    with socket.create_server((HOST, 0)) as server:
        closed = server.getsockname()[1]
    here.ways |= {"closed": (HOST, closed, "", b""), "nowhere": ("no.such.host.invalid", 1, "none", b"")}
    for address in ("closed", "nowhere", "without lanes"):
        assert not here.lanes.send(address, b"")
        here.idle()
        assert not here.lanes.send(address, b"")
        assert address not in here.lanes._out
