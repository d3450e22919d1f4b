"""Files by path or URL: bytes are decompressed according to the suffix, and writes are atomic.

Every failure of the file system or of a compressed stream is raised as a FileError that names the file.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import secrets
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from dgraph.errors import FileError
from dgraph.io.declared_sizes import Growth
from dgraph.io.paths import COMPRESSED, explain_failure, filesystem, is_local, split_suffix
from dgraph.native.free_memory import explain_lack_of_memory

_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
_PIECE = 4 << 20  # bytes that are read at once
_SMALL = 64  # bytes; a compressed file with no content is smaller
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
_WINDOW = "requires too much memory"  # in an error of zstd, whose window is at most 128 MiB by default


def compression_of(first: bytes) -> str:
    """The suffix of the compression that a file's first bytes show, or an empty string."""
    return next((suffix for magic, suffix in _MAGIC.items() if first.startswith(magic)), "")


def is_empty(path: str | os.PathLike) -> bool:
    """Whether a file is empty, after decompression."""
    fs, inner = filesystem(path)
    size, compression = fs.size(inner), split_suffix(path)[2]
    if size == 0 or not compression or size is None or size > _SMALL:
        return size == 0
    with open_bytes(path) as stream:
        return not stream.read(1)


class CheckedStream(io.RawIOBase):
    """A stream whose failures name the file."""

    def __init__(self, stream: Any, path: str, raw: Any, fs: Any, growth: Growth):
        self.stream, self.path, self.raw, self.growth = stream, path, raw, growth
        self.fs = fs  # keeps an archive open: it is closed with its file system

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_PIECE), b""))

    def read(self, size: int = -1) -> bytes:
        if size is None or size < 0:
            return self.readall()
        try:
            with explain_lack_of_memory(self.path):
                data = bytes(self.stream.read(size))
            self.growth.add(len(data))
            return data
        except _BROKEN as error:
            compression = split_suffix(self.path)[2]
            if not compression:
                raise FileError(f"cannot be read: {error}", path=self.path, remedy="check the disk or link") from error
            if _WINDOW in str(error):
                problem, remedy = "the zstd stream has a window above 128 MiB", "decompress it first: zstd -d --long=31"
                raise FileError(problem, path=self.path, remedy=remedy) from error
            problem = f"the {COMPRESSED[compression]} stream is corrupt or truncated: {error}"
            raise FileError(problem, path=self.path, remedy="download or compress the file again") from error

    def close(self) -> None:
        if not self.closed:
            for stream in (self.stream, self.raw):
                with contextlib.suppress(*_BROKEN):
                    stream.close()
        super().close()


def _with_compression(raw: Any, compression: str, mode: Literal["rb", "wb"]) -> Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw, mode=mode, filename="", mtime=0)
    if compression == ".bz2":
        return bz2.BZ2File(raw, mode)
    if compression == ".xz":
        return lzma.LZMAFile(raw, mode)
    if compression == ".zst" and mode == "rb":
        return pa.CompressedInputStream(raw, "zstd")
    if compression == ".zst":
        return pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd")
    return raw


def open_bytes(path: str | os.PathLike, each: int = 0) -> CheckedStream:
    """A stream of the decompressed bytes of one file; raises a FileError if the file is missing or empty. A RoomError
    stops it when memory runs short, or when `each` bytes of memory for each byte read would exceed it."""
    name = os.fspath(path)
    fs, inner = filesystem(name)
    with explain_failure(name, "cannot be opened", "check that it is a file and its permissions"):
        try:
            raw = fs.open(inner, "rb")
            first = raw.read(8)
            raw.seek(0)
        except FileNotFoundError as error:
            raise FileError("there is no such file", path=name, remedy="check the path") from error
    if not first:
        raw.close()
        raise FileError("the file is empty", path=name, remedy="write or download it again")
    compression = split_suffix(name)[2]
    if not compression and (suffix := compression_of(first)):
        raw.close()
        problem = f"the content is {COMPRESSED[suffix]}, but the suffix does not say so"
        raise FileError(problem, path=name, remedy=f"rename it to end in {suffix}")
    growth = Growth(name, raw if compression else None, each)
    with explain_failure(name, f"not a {COMPRESSED.get(compression)} stream", None, _BROKEN):
        return CheckedStream(_with_compression(raw, compression, "rb"), name, raw, fs, growth)


def length(path: str | os.PathLike) -> int | None:
    """The number of bytes in a file; None if it is compressed, or if its file system does not report it."""
    fs, inner = filesystem(path)
    try:
        return None if split_suffix(path)[2] else fs.size(inner)
    except (OSError, ValueError):
        return None


def read_bytes(path: str | os.PathLike, each: int = 1, most: int | None = None) -> bytes:
    """All decompressed bytes of one file, for a reader that needs `each` bytes of memory per byte. Refuses a file of
    more than `most` bytes."""
    with open_bytes(path, each) as stream:
        data = stream.read() if most is None else io.BufferedReader(stream).read(most + 1)
    if most is not None and len(data) > most:
        remedy = "check that it is the file that you mean"
        raise FileError(f"the file has more than {most:,} bytes", path=path, remedy=remedy)
    if not data:
        raise FileError("the file is empty after decompression", path=path, remedy="write or download it again")
    return data


@contextlib.contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Any]:
    """A binary stream that replaces the file when the block succeeds; otherwise the old file is left untouched."""
    name = os.fspath(path)
    fs, inner = filesystem(name)
    finish: Callable[[], object]
    give_up: Callable[[], object]
    with explain_failure(name, "cannot be written", "check the folder and its permissions"):
        if is_local(fs):
            whole = Path(inner)
            whole.parent.mkdir(parents=True, exist_ok=True)
            draft = whole.with_name(f".{whole.name}.{secrets.token_hex(4)}.part")
            raw: Any = draft.open("xb")
            finish, give_up = lambda: draft.replace(whole), draft.unlink
        else:
            raw = fs.open(inner, "wb")
            finish, give_up = lambda: None, getattr(raw, "discard", lambda: None)
    try:
        stream = _with_compression(raw, split_suffix(name)[2], "wb")
        yield stream
        if stream is not raw:
            stream.close()
        raw.close()
        finish()
    except BaseException as error:
        if not hasattr(raw, "discard"):
            with contextlib.suppress(OSError, ValueError):  # flushing what is buffered may fail, too
                raw.close()
        with contextlib.suppress(OSError, ValueError):
            give_up()
        if isinstance(error, OSError):
            raise FileError(f"cannot be written: {error}", path=name, remedy="check the free disk space") from error
        raise
