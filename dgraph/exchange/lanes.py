"""Lanes: connections for small packets from one worker to another, beside Dask's calls.

A call of Dask takes about half a millisecond of both workers' CPU time, and among many workers most packets are small.
A lane is a plain TCP connection, opened after the first packet between two workers and kept from run to run. A packet
is one write by the thread of the step, and is read by the receiver's event loop; nothing is acknowledged, because
packets are numbered and tokens say how many there are. Whoever opens a lane first sends a secret that it has from the
receiver by a call of Dask. Between processes of one Linux host it is a Unix socket. Where Dask's own connections are
not plain TCP there are no lanes, and where a lane cannot be opened or breaks, packets go by Dask's calls.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hmac import compare_digest
from typing import Any

from dgraph.exchange.lane_frames import SIZE, packet_of
from dgraph.exchange.mail import Packet

MOST_LANES = 256  # that lead from one worker to others
OPENING_SECONDS = 5.0  # after which a lane counts as one that cannot be opened
SECRET_BYTES = 32
UNNAMED = "\0"  # before the name of a Unix socket that no folder lists, and that goes with its process

Way = tuple[str, int, str, bytes]  # to a worker's door: host, port, the name of a Unix socket (or ""), secret


class Lanes:
    """The lanes of one worker: those that lead here from its peers, and those that lead to them. `arrived` takes a
    packet, on the event loop. `ask` asks the peer at an address for the way to its door."""

    def __init__(
        self,
        host: str,
        loop: asyncio.AbstractEventLoop,
        arrived: Callable[[Packet], None],
        ask: Callable[[str], Awaitable[Way | None]],
    ):
        self.host, self.loop, self.arrived, self.ask = host, loop, arrived, ask
        self._out: dict[str, LaneToPeer | None] = {}  # by the peer's address; None while there is none
        self._openings: set[asyncio.Task[None]] = set()
        self._servers: asyncio.Future[list[asyncio.Server]] | None = None
        self._secret = secrets.token_bytes(SECRET_BYTES)
        self._name = f"dgraph-{secrets.token_hex(SECRET_BYTES)}" if sys.platform == "linux" else ""
        self._in: set[asyncio.BaseTransport] = set()

    def send(self, address: str, frame: bytes) -> bool:
        """Send a frame to a peer, from any thread; False if there is no lane to it now. The first time, one is opened
        in the background."""
        lane = self._out.get(address)
        if lane is not None:
            if lane.send(frame):
                return True
            self.forget(address)
        if address not in self._out and len(self._out) < MOST_LANES:
            self._out[address] = None
            self.loop.call_soon_threadsafe(self._begin, address)
        return False

    def _begin(self, address: str) -> None:
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
                line = await self._connected(socket.AF_UNIX, UNNAMED + name) if name else None
                if line is None:
                    (kind, *_, place), *_ = await self.loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                    line = await self._connected(kind, place)
                if line is not None:
                    await self.loop.sock_sendall(line, secret)
                    self._out[address] = LaneToPeer(line, self.loop)

    async def _connected(self, kind: int, place: Any) -> socket.socket | None:
        """A connection to a place; None if nobody is there, or it is on another host."""
        line = socket.socket(kind, socket.SOCK_STREAM)
        try:
            line.setblocking(False)
            if kind != socket.AF_UNIX:
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self.loop.sock_connect(line, place)
        except OSError:
            line.close()
            return None
        except BaseException:
            line.close()
            raise
        return line

    async def way(self) -> Way | None:
        """The way to this worker's door, which opens the first time; None if it cannot be opened."""
        if self._servers is None:
            self._servers = asyncio.ensure_future(self._serve())
        try:
            server, *_ = await asyncio.shield(self._servers)
        except OSError:
            return None
        return self.host, server.sockets[0].getsockname()[1], self._name, self._secret

    async def _serve(self) -> list[asyncio.Server]:
        servers = [await self.loop.create_server(self._door, self.host)]
        if self._name:
            servers.append(await self.loop.create_unix_server(self._door, UNNAMED + self._name))
        return servers

    def _door(self) -> Door:
        return Door(self._secret, self.arrived, self._in)

    def forget(self, address: str) -> None:
        """Close a lane that is broken or no longer needed, from any thread."""
        lane = self._out.pop(address, None)
        if lane is not None:
            self.loop.call_soon_threadsafe(lane.close)

    def close(self) -> None:
        for opening in list(self._openings):
            opening.cancel()
        for address in list(self._out):
            self.forget(address)
        if self._servers is not None and self._servers.done() and not self._servers.exception():
            for server in self._servers.result():
                server.close()
        for line in list(self._in):
            line.close()


class LaneToPeer:
    """The way to one peer. What the system does not take at once is sent later by the event loop."""

    def __init__(self, line: socket.socket, loop: asyncio.AbstractEventLoop):
        self.line, self.loop, self.broken = line, loop, False
        self._rest, self._lock = bytearray(), threading.Lock()

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
                self.broken = True
            if self.broken or not self._rest:
                self.loop.remove_writer(self.line)

    def close(self) -> None:
        with self._lock:
            self.broken = True
            self.loop.remove_writer(self.line)
            self.line.close()


class Door(asyncio.Protocol):
    """The end of a lane that leads here. It lets in only who sends the secret first."""

    def __init__(self, secret: bytes, arrived: Callable[[Packet], None], open_lines: set[asyncio.BaseTransport]):
        self.secret, self.arrived, self.open_lines = secret, arrived, open_lines
        self._held, self._known = bytearray(), False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.line: asyncio.Transport = transport  # type: ignore[assignment]
        self.open_lines.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.open_lines.discard(self.line)

    def data_received(self, data: bytes) -> None:
        held = self._held
        held += data
        if not self._known:
            if len(held) < SECRET_BYTES:
                return
            if not compare_digest(bytes(held[:SECRET_BYTES]), self.secret):
                self.line.abort()
                return
            self._known = True
            del held[:SECRET_BYTES]
        place = 0
        while len(held) - place >= SIZE.size:
            (size,) = SIZE.unpack_from(held, place)
            begin = place + SIZE.size
            if len(held) - begin < size:
                break
            place = begin + size
            self.arrived(packet_of(bytes(memoryview(held)[begin:place])))
        del held[:place]
