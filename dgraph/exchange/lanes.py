"""Lanes: connections for small packets from one worker to another, beside Dask's calls.

A call of Dask takes about half a millisecond of both workers' CPU time, and among many workers most packets are small.
A lane is a plain TCP connection, opened after the first packet between two workers and kept from run to run. A packet
is one write by the thread of the step, and is read by the receiver's event loop; nothing is acknowledged, because
packets are numbered and tokens say how many there are. Whoever opens a lane first sends a secret that it has from the
receiver by a call of Dask, and the receiver welcomes it. Between processes of one Linux host a lane is a Unix socket.

Where Dask's own connections are not plain TCP there are no lanes, and where a lane cannot be opened, packets go by
Dask's calls. When a lane breaks, packets on it may be lost: what is under way to that worker fails, as it does when the
scheduler hears of a worker that leaves.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hmac import compare_digest
from typing import Any

from dgraph.exchange.lane_frames import SIZE

MOST_LANES = 256  # that lead from one worker to others
OPENING_SECONDS = 5.0  # after which a lane counts as one that cannot be opened
AGAIN_SECONDS = 60.0  # after which to try again to open one
SILENT_SECONDS = 30  # after which the system gives up a connection at whose other end nobody answers
SECRET_BYTES = 32
WELCOME = b"1"
UNNAMED = "\0"  # before the name of a Unix socket that no folder lists, and that goes with its process

Way = tuple[str, int, str, bytes]  # to a worker's door: host, port, the name of a Unix socket (or ""), secret


class Lanes:
    """The lanes of one worker: those that lead here from its peers, and those that lead to them. `arrived` takes a
    frame, on the event loop. `ask` asks the peer at an address for the way to its door. `lost` is told of a peer to
    which a lane has broken."""

    def __init__(
        self,
        host: str,
        loop: asyncio.AbstractEventLoop,
        arrived: Callable[[bytearray], None],
        ask: Callable[[str], Awaitable[Way | None]],
        lost: Callable[[str], None],
    ):
        self.host, self.loop, self.arrived, self.ask, self.lost = host, loop, arrived, ask, lost
        self._out: dict[str, LaneToPeer] = {}  # by the peer's address
        self._tried: dict[str, float] = {}  # when a lane was last opened, or could not be
        self._closed, self._lock = False, threading.Lock()
        self._openings: set[asyncio.Task[None]] = set()
        self._servers: asyncio.Future[list[asyncio.Server]] | None = None
        self._secret = secrets.token_bytes(SECRET_BYTES)
        self._name = f"dgraph-{secrets.token_hex(SECRET_BYTES)}" if sys.platform == "linux" else ""
        self._in: set[asyncio.BaseTransport] = set()

    def send(self, address: str, frame: bytes) -> bool:
        """Send a frame to a peer, from any thread; False if there is no lane to it now. The first time, one is opened
        in the background."""
        lane = self._out.get(address)
        if lane is not None and lane.send(frame):
            return True
        with self._lock:
            now = time.monotonic()
            due = now - self._tried.get(address, -AGAIN_SECONDS) >= AGAIN_SECONDS
            if due and lane is None and len(self._out) < MOST_LANES and not self._closed:
                self._tried[address] = now
                self.loop.call_soon_threadsafe(self._begin, address)
        return False

    def _begin(self, address: str) -> None:
        if not self._closed:
            opening = asyncio.ensure_future(self._open(address))
            self._openings.add(opening)
            opening.add_done_callback(self._openings.discard)

    async def _open(self, address: str) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(OPENING_SECONDS):
                way = await self.ask(address)
                if way is None:
                    return
                host, port, name, secret = way
                line = await self._connected(socket.AF_UNIX, UNNAMED + name, secret) if name else None
                if line is None:
                    (kind, *_, place), *_ = await self.loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                    line = await self._connected(kind, place, secret)
                if line is not None and not self._closed:
                    self._out[address] = LaneToPeer(line, self.loop, lambda: self._forget(address))

    async def _connected(self, kind: int, place: Any, secret: bytes) -> socket.socket | None:
        """A connection to a door that has welcomed it; None if nobody is there, or it is on another host."""
        line = socket.socket(kind, socket.SOCK_STREAM)
        try:
            line.setblocking(False)
            if kind != socket.AF_UNIX:
                notice_silence(line)
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self.loop.sock_connect(line, place)
            await self.loop.sock_sendall(line, secret)
            if await self.loop.sock_recv(line, 1) == WELCOME:
                return line
        except OSError:
            pass
        except BaseException:
            line.close()
            raise
        line.close()
        return None

    async def way(self) -> Way | None:
        """The way to this worker's door, which opens the first time; None if it cannot be opened."""
        if self._closed:
            return None
        if self._servers is None:
            self._servers = asyncio.ensure_future(self._serve())
        try:
            servers = await asyncio.shield(self._servers)
        except (OSError, asyncio.CancelledError):
            return None
        name = self._name if len(servers) > 1 else ""
        return self.host, servers[0].sockets[0].getsockname()[1], name, self._secret

    async def _serve(self) -> list[asyncio.Server]:
        servers = [await self.loop.create_server(self._door, self.host)]
        with suppress(OSError):
            if self._name:
                servers.append(await self.loop.create_unix_server(self._door, UNNAMED + self._name))
        if self._closed:
            for server in servers:
                server.close()
        return servers

    def _door(self) -> Door:
        return Door(self._secret, self.arrived, self._in)

    def _forget(self, address: str) -> None:
        """A lane has broken, because the peer has gone or cannot be reached."""
        if self._out.pop(address, None) is not None and not self._closed:
            self._tried.pop(address, None)  # if it is there again, so may be a lane
            self.lost(address)

    def close(self) -> None:
        """Close all lanes, on the event loop."""
        self._closed = True
        for opening in list(self._openings):
            opening.cancel()
        while self._out:
            self._out.popitem()[1].close()
        if self._servers is not None and self._servers.done() and not self._servers.cancelled():
            for server in self._servers.result() if self._servers.exception() is None else ():
                server.close()
        for line in list(self._in):
            line.close()


def notice_silence(line: socket.socket) -> None:
    """Have the system notice that the other end of a TCP connection is gone, even if nothing is sent."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with suppress(AttributeError, OSError):  # not on all systems
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENT_SECONDS // 2)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, SILENT_SECONDS // 4)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * SILENT_SECONDS)


class LaneToPeer:
    """The way to one peer, made on the event loop. What the system does not take at once is sent later by the loop.
    The peer sends nothing, so whatever comes means that it is gone: `lost` is called then, on the loop."""

    def __init__(self, line: socket.socket, loop: asyncio.AbstractEventLoop, lost: Callable[[], None]):
        self.line, self.loop, self.lost, self.broken = line, loop, lost, False
        self._rest, self._lock = bytearray(), threading.Lock()
        loop.add_reader(line, self._break)

    def send(self, frame: bytes) -> bool:
        with self._lock:
            if self.broken:
                return False
            sent = 0
            if not self._rest:
                try:
                    sent = self.line.send(frame)
                except BlockingIOError:
                    pass
                except OSError:
                    self.broken = True
                    self.loop.call_soon_threadsafe(self._break)
                    return False
                if sent == len(frame):
                    return True
                self.loop.call_soon_threadsafe(self._watch)
            self._rest += memoryview(frame)[sent:]
            return True

    def _watch(self) -> None:
        if not self.broken:
            self.loop.add_writer(self.line, self._send_rest)

    def _send_rest(self) -> None:
        with self._lock:
            try:
                del self._rest[: self.line.send(self._rest)]
            except BlockingIOError:
                return
            except OSError:
                self.loop.call_soon(self._break)
                return
            if not self._rest:
                self.loop.remove_writer(self.line)

    def _break(self) -> None:
        self.close()
        self.lost()

    def close(self) -> None:
        with self._lock:
            self.broken = True
            if self.line.fileno() >= 0:
                self.loop.remove_writer(self.line)
                self.loop.remove_reader(self.line)
                self.line.close()


class Door(asyncio.Protocol):
    """The end of a lane that leads here. It lets in only who sends the secret first."""

    def __init__(self, secret: bytes, arrived: Callable[[bytearray], None], open_lines: set[asyncio.BaseTransport]):
        self.secret, self.arrived, self.open_lines = secret, arrived, open_lines
        self._held, self._known = bytearray(), False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.line: asyncio.Transport = transport  # type: ignore[assignment]
        self.open_lines.add(transport)
        if (line := transport.get_extra_info("socket")) is not None and line.family != socket.AF_UNIX:
            notice_silence(line)
        self._late = asyncio.get_running_loop().call_later(OPENING_SECONDS, transport.abort)  # type: ignore[attr-defined]

    def connection_lost(self, error: Exception | None) -> None:
        self._late.cancel()
        self.open_lines.discard(self.line)

    def data_received(self, data: bytes) -> None:
        held = self._held
        held += data
        if not self._known:
            if len(held) < SECRET_BYTES:
                return
            self._late.cancel()
            if not compare_digest(bytes(held[:SECRET_BYTES]), self.secret):
                self.line.abort()
                return
            self._known = True
            self.line.write(WELCOME)
            del held[:SECRET_BYTES]
        place = 0
        while len(held) - place >= SIZE.size:
            (size,) = SIZE.unpack_from(held, place)
            begin = place + SIZE.size
            if len(held) - begin < size:
                break
            place = begin + size
            self.arrived(held[begin:place])
        del held[:place]
