"""Pieces in a folder or under an fsspec URL: `<program>-<identity>/<round>-<attempt>/p<part>.piece`.

A piece is written next to its final path and then moved there. A checkpoint is complete when all its pieces are.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import xxhash

from dgraph.checkpoint.piece import CheckpointPiece, from_bytes, round_of, to_bytes
from dgraph.errors import RoomError, StorageError
from dgraph.native.free_memory import explain_lack_of_memory

KEPT_CHECKPOINTS = 2  # the last may be incomplete, in which case a run resumes from the one before
FOLDER_REMEDY = (
    "set checkpoint= to a folder or URL with free space that all workers and this process can read and write"
)


@dataclass(frozen=True)
class CheckpointFolder:
    """The checkpoints of one run under a path."""

    path: str
    program: str
    identity: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return f"{_path_part(self.program)}-{xxhash.xxh3_64_hexdigest(repr(self.identity).encode())}"

    def on_worker(self, exchange: Any) -> CheckpointFolder:
        """The store as a worker of the run sees it, which is the same folder."""
        return self

    def write(self, checkpoint: str, piece: CheckpointPiece) -> None:
        fs, root = _filesystem(self.path)
        folder = f"{root}/{self.name}/{checkpoint}"
        beside = f"{folder}/.{piece.part}-{uuid4().hex}"
        try:
            fs.makedirs(folder, exist_ok=True)
            try:
                fs.pipe_file(beside, to_bytes(piece))
                fs.mv(beside, f"{folder}/p{piece.part}.piece")
            except BaseException:
                if fs.exists(beside):
                    fs.rm_file(beside)
                raise
        except Exception as cause:
            raise StorageError(f"{self.path}: the checkpoint cannot be written ({cause}); {FOLDER_REMEDY}") from cause

    def write_marker(self, folder: str, name: str) -> None:
        """Write a file to a subfolder. A process that does not see it has a different folder under the same path."""
        fs, root = _filesystem(self.path)
        try:
            fs.makedirs(f"{root}/{folder}", exist_ok=True)
            fs.pipe_file(f"{root}/{folder}/{name}", b"here")
        except Exception as cause:
            raise StorageError(f"{self.path}: cannot be written ({cause}); {FOLDER_REMEDY}") from cause

    def markers(self, folder: str) -> set[str]:
        """The names of the files in a subfolder."""
        fs, root = _filesystem(self.path)
        return set(_names(fs, f"{root}/{folder}"))

    def remove_markers(self, folder: str) -> None:
        fs, root = _filesystem(self.path)
        _remove(fs, f"{root}/{folder}")

    def read(self, checkpoint: str, part: int) -> CheckpointPiece:
        """Read a piece, and check that it is complete and belongs to this run."""
        fs, root = _filesystem(self.path)
        where = f"{root}/{self.name}/{checkpoint}/p{part}.piece"
        try:
            with explain_lack_of_memory(where):
                data = fs.cat_file(where)
        except RoomError:
            raise
        except Exception as cause:
            raise StorageError(f"{where}: cannot be read ({cause})") from cause
        piece = from_bytes(data, where)
        if (piece.round, piece.part) != (round_of(checkpoint), part) or piece.identity != dict(self.identity):
            raise StorageError(f"{where}: it holds a piece of another checkpoint")
        return piece

    def checkpoints(self) -> list[str]:
        """The names of all checkpoints, complete or not, the latest first."""
        fs, root = _filesystem(self.path)
        return sorted((name for name in _names(fs, f"{root}/{self.name}") if round_of(name)), reverse=True)

    def parts(self, checkpoint: str) -> int:
        """The number of pieces of a checkpoint, as recorded in one of them; 0 if none is readable."""
        fs, root = _filesystem(self.path)
        for name in _names(fs, f"{root}/{self.name}/{checkpoint}"):
            if (match := re.fullmatch(r"p([0-9]{1,6})\.piece", name)) is not None:
                with suppress(StorageError):
                    return self.read(checkpoint, int(match[1])).parts
        return 0

    def others(self) -> list[CheckpointPiece]:
        """One readable piece of each run of the same program on other input."""
        fs, root = _filesystem(self.path)
        pieces = []
        for name in _names(fs, root):
            if name != self.name and name.rpartition("-")[0] == _path_part(self.program):
                for piece in sorted(fs.glob(f"{root}/{name}/*/p*.piece"), reverse=True):
                    with suppress(StorageError):
                        pieces.append(from_bytes(fs.cat_file(piece), piece))
                        break
        return pieces

    def forget(self, before: int | None = None) -> None:
        """Remove the checkpoints before a round, or all of this run."""
        fs, root = _filesystem(self.path)
        for checkpoint in self.checkpoints():
            if before is None or round_of(checkpoint) < before:
                _remove(fs, f"{root}/{self.name}/{checkpoint}")
        if before is None:
            _remove(fs, f"{root}/{self.name}")
            with suppress(OSError, NotImplementedError):  # it may hold other checkpoints, or have no folders
                fs.rmdir(root)


def _filesystem(path: str) -> tuple[Any, str]:
    import fsspec  # imported here because it loads asyncio, which a run without checkpoints does not need

    try:
        fs, root = fsspec.core.url_to_fs(path)
    except (ValueError, ImportError, TypeError) as cause:
        raise StorageError(f"{path}: cannot be opened ({cause}); {FOLDER_REMEDY}") from cause
    fs.invalidate_cache()
    return fs, root.rstrip("/")


def _names(fs: Any, folder: str) -> list[str]:
    try:
        return [name.rstrip("/").rpartition("/")[2] for name in fs.ls(folder, detail=False)]
    except FileNotFoundError:
        return []
    except Exception as cause:
        raise StorageError(f"{folder}: cannot be listed ({cause}); {FOLDER_REMEDY}") from cause


def _remove(fs: Any, folder: str) -> None:
    """Remove a file, ignoring errors: another worker may have removed it, and a file that stays does no harm."""
    with suppress(OSError, ValueError, KeyError):
        fs.rm(folder, recursive=True)


def _path_part(name: str) -> str:
    """A name as part of a path."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:60]
