"""Files by path or URL: bytes decompressed by suffix, writes that appear whole or not at all.

Every failure of the file system or of a compressed stream leaves here as a FileError that names the file.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from dgraph.errors import FileError
from dgraph.io.paths import COMPRESSED, filesystem, is_local, split_suffix

_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
_SMALL = 64  # bytes, of which a compressed file of nothing has fewer
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)


def compression_of(first: bytes) -> str:
    """The suffix that a file's first bytes ask for; none, if it is not compressed."""
    return next((suffix for magic, suffix in _MAGIC.items() if first.startswith(magic)), "")


def is_empty(path: str | os.PathLike) -> bool:
    """Whether a file holds nothing, also once it is decompressed."""
    fs, inner = filesystem(path)
    size, compression = fs.size(inner), split_suffix(path)[2]
    if size == 0 or not compression or size is None or size > _SMALL:
        return size == 0
    with open_bytes(path) as stream:
        return not stream.read(1)


class _Checked(io.RawIOBase):
    """A stream whose failures name the file; it also counts, so that an empty file is told from an empty stream."""

    def __init__(self, stream: Any, path: str, raw: Any, fs: Any):
        self.stream, self.path, self.raw = stream, path, raw
        self.fs = fs  # an archive, which would be closed with its file system

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            return bytes(self.stream.read() if size is None or size < 0 else self.stream.read(size))
        except _BROKEN as error:
            compression = split_suffix(self.path)[2]
            if not compression:
                raise FileError(f"cannot be read: {error}", path=self.path, remedy="check the disk or link") from error
            problem = f"the {COMPRESSED[compression]} stream is corrupt or cut short: {error}"
            raise FileError(problem, path=self.path, remedy="fetch or compress the file again") from error

    def readall(self) -> bytes:
        return self.read(-1)

    def readinto(self, buffer) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            for stream in (self.stream, self.raw):
                with contextlib.suppress(*_BROKEN):
                    stream.close()
        super().close()


def _decompressed(raw: Any, compression: str) -> Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if compression == ".bz2":
        return bz2.BZ2File(raw, "rb")
    if compression == ".xz":
        return lzma.LZMAFile(raw, "rb")
    if compression == ".zst":
        return pa.CompressedInputStream(raw, "zstd")
    return raw


def open_bytes(path: str | os.PathLike) -> BinaryIO:
    """A stream of the decompressed bytes of one file; a FileError when it is missing or holds nothing."""
    name = os.fspath(path)
    fs, inner = filesystem(name)
    try:
        raw = fs.open(inner, "rb")
        first = raw.read(8)
        raw.seek(0)
    except FileNotFoundError as error:
        raise FileError("there is no such file", path=name, remedy="check the path") from error
    except (OSError, ValueError) as error:
        raise FileError(f"cannot be opened: {error}", path=name, remedy="check its kind and its rights") from error
    if not first:
        raw.close()
        raise FileError("the file is empty", path=name, remedy="write or fetch it again")
    compression = split_suffix(name)[2]
    if not compression:
        suffix = compression_of(first)
        if suffix:
            raw.close()
            raise FileError(f"the content is {COMPRESSED[suffix]}", path=name, remedy=f"let its name end in {suffix}")
    try:
        return cast(BinaryIO, _Checked(_decompressed(raw, compression), name, raw, fs))
    except _BROKEN as error:
        raise FileError(f"not a {COMPRESSED[compression]} stream: {error}", path=name) from error


def read_bytes(path: str | os.PathLike) -> bytes:
    """All decompressed bytes of one file."""
    with open_bytes(path) as stream:
        data = stream.read()
    if not data:
        raise FileError("the file is empty once decompressed", path=path, remedy="write or fetch it again")
    return data


def _compressed(raw: Any, compression: str) -> Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0)
    if compression == ".bz2":
        return bz2.BZ2File(raw, "wb")
    if compression == ".xz":
        return lzma.LZMAFile(raw, "wb")
    if compression == ".zst":
        return pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd")
    return raw


@contextlib.contextmanager
def atomic(path: str | os.PathLike) -> Iterator[Any]:
    """A binary stream that becomes the file when the block ends well; else the old file stays as it was."""
    name = os.fspath(path)
    fs, inner = filesystem(name)
    finish: Callable[[], object]
    give_up: Callable[[], object]
    try:
        if is_local(fs):
            folder = Path(inner).parent
            folder.mkdir(parents=True, exist_ok=True)
            handle, beside = tempfile.mkstemp(prefix=f".{Path(inner).name}.", suffix=".part", dir=folder)
            raw: Any = os.fdopen(handle, "wb")
            mask = os.umask(0)
            os.umask(mask)
            Path(beside).chmod(0o666 & ~mask)
            finish, give_up = lambda: Path(beside).replace(inner), Path(beside).unlink
        else:
            raw = fs.open(inner, "wb")
            finish, give_up = lambda: None, getattr(raw, "discard", lambda: None)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot be written: {error}", path=name, remedy="check the folder and its rights") from error
    try:
        stream = _compressed(raw, split_suffix(name)[2])
        yield stream
        if stream is not raw:
            stream.close()
        raw.close()
        finish()
    except BaseException as error:
        if not hasattr(raw, "discard"):
            with contextlib.suppress(OSError, ValueError):  # what it still holds may not fit, either
                raw.close()
        with contextlib.suppress(OSError, ValueError):
            give_up()
        if isinstance(error, OSError):
            raise FileError(f"cannot be written: {error}", path=name, remedy="check the space on the disk") from error
        raise
