"""Checks of the sizes that files declare, or grow to when decompressed, before memory is allocated for them.

A header of a few bytes can declare billions of vertices, and a small compressed file can hold terabytes. A count is
checked against the length of the file itself (a FileError if it cannot be true) and against free memory (a RoomError).
"""

from __future__ import annotations

from typing import Any

from dgraph.errors import FileError, IdError, RoomError
from dgraph.frames.sources import id_range
from dgraph.native.free_memory import REMEDY, free_memory, refuse_beyond_memory, size_in_words

VERTEX = 8  # bytes that a graph needs for each vertex, at least
LOOK = 16 << 20  # bytes of content between two checks of free memory
RESERVE = 64 << 20  # bytes that a reader leaves free
RATIO, LARGE = 250, 256 << 20  # content beyond this multiple of its compressed bytes, and this size, is a bomb


def items(path: Any, count: int, what: str, content: int | None, *, each: int = 1, line: int | None = None) -> None:
    """Refuse a header that declares more items than `content` bytes (None: unknown) can hold at `each` or more bytes
    per item."""
    if content is not None and count * each > content + 1:  # the last line may lack its line break
        problem = f"the header declares {count} {what}, but the file has only {content:,} bytes"
        raise FileError(problem, path=path, line=line, remedy="the file is truncated or its header is wrong")


def memory(path: Any, need: int, what: str) -> None:
    """Refuse `what` if it needs more bytes than this process can allocate."""
    if need > RESERVE:
        refuse_beyond_memory(f"{path}: {what}", need)


def check_vertices(path: Any, ids: range) -> None:
    """Refuse a range of vertices that no graph in this process could hold."""
    memory(path, VERTEX * len(ids), f"the {len(ids):,} vertices that the file declares")


def vertex_range(path: Any, start: int, stop: int, step: int = 1) -> range:
    """The ids of the vertices that a file declares; refuses those that are not 64-bit integers."""
    try:
        return id_range(start, stop, step)
    except IdError as error:
        raise IdError(f"{path}: {error}") from error


class Growth:
    """Counts what a stream has returned so far, and stops reading before memory runs out.

    `packed` is the compressed stream that it decompresses, if any. `each` is the number of bytes that a reader needs
    for each byte of content, if it reads the whole content before it parses.
    """

    def __init__(self, path: Any, packed: Any = None, each: int = 0):
        self.path, self.packed, self.each = path, packed, each
        self.content, self.next, self.free = 0, LOOK, 0

    def add(self, read: int) -> None:
        """Count bytes that were read, and check free memory from time to time."""
        self.content += read
        if self.content >= self.next:
            self.next = self.content + LOOK
            self._look()

    def _look(self) -> None:
        left = free_memory()
        self.free = self.free or left
        taken, size = max(0, self.free - left), size_in_words(self.content)
        if self.packed is not None and self.content > max(LARGE, RATIO * self.packed.tell()):
            problem = f"the content is more than {RATIO} times as large as its compressed bytes: {size} so far"
            remedy = "edges do not compress so well; if these do, decompress the file first"
            raise FileError(problem, path=self.path, remedy=remedy)
        if left < max(RESERVE, taken // 4) or self.content * self.each > self.free:
            need = f", which need about {size_in_words(self.content * self.each)}" if self.each else ""
            raise RoomError(
                f"{self.path}: not enough memory to read the file: after {size} of its content{need}, only "
                f"{size_in_words(left)} are free ({REMEDY})"
            )
