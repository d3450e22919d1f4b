"""The stream of clean lines for Arrow's CSV reader: without comments, and with single blanks.

It also detects what Arrow would misread silently: `007` or `0x10` as an integer, a quoted value that contains a line
break, a NUL byte.
"""

from __future__ import annotations

import io
import re
from typing import BinaryIO

import numpy as np

from dgraph.errors import FileError
from dgraph.io.text.dialect import BLANKS, Dialect, check_text

BLOCK = 4 << 20
LONGEST_LINE = 16 << 20  # bytes; Arrow reads no line that is longer than a block
_ODD_INTEGER = re.compile(rb"(?<![0-9.eExX+-])-?0[0-9xX]|(?<![0-9.eExX])-0(?![.0-9])")
_BLANK_RUN = re.compile(rb"  +")


class CleanLines(io.RawIOBase):
    """Reads whole lines of `stream` after the first `skip`; `odd_integers`, `hexadecimal` and `quotes`
    report what it found."""

    def __init__(self, stream: BinaryIO, path: str, dialect: Dialect, skip: int, watch_integers: bool = True):
        self.stream, self.path, self.dialect = stream, path, dialect
        self.watch_integers = watch_integers
        self.odd_integers = self.hexadecimal = self.quotes = False
        self._rest, self._ready, self._at, self._done = b"", b"", 0, False
        self._end = b"\r" if dialect.bare_cr else b"\n"
        comments = "".join(dialect.comments).encode()
        self._comment = re.compile(rb"(?m)^[ \t]*[" + re.escape(comments) + rb"][^\n]*\n?") if comments else None
        self._comment_starts = [sign.encode() for sign in dialect.comments]
        delimiter = re.escape(dialect.delimiter.encode())
        self._trim = re.compile(rb"[ \t]*" + delimiter + rb"[ \t]*") if dialect.trim else None
        self._skip(skip)

    def readable(self) -> bool:
        return True

    def _skip(self, lines: int) -> None:
        block = self.stream.read(BLOCK)
        if block.startswith(b"\xef\xbb\xbf"):
            block = block[3:]
        at = 0
        for _ in range(lines):
            end = block.find(self._end, at)
            while end < 0:
                more = self.stream.read(BLOCK)
                if not more:
                    break
                block, at = block[at:] + more, 0
                end = block.find(self._end)
            if end < 0:
                at = len(block)
                break
            at = end + 1
        self._rest = block[at:]

    def _next(self) -> bytes:
        """The next block of whole lines; empty at the end of the file."""
        pieces, size = [self._rest] if self._rest else [], 0
        self._rest = b""
        while not self._done:
            block = self.stream.read(BLOCK)
            if not block:
                self._done = True
                break
            cut = block.rfind(self._end) + 1
            if cut:
                self._rest = block[cut:]
                pieces.append(block[:cut])
                break
            pieces.append(block)
            size += len(block)
            if size > LONGEST_LINE:
                problem = f"a line has more than {LONGEST_LINE:,} bytes"
                raise FileError(problem, path=self.path, remedy="check the line ends, or set format=")
        return b"".join(pieces)

    def _clean(self, block: bytes) -> bytes:
        check_text(block, self.path)
        if self.dialect.bare_cr:
            block = block.replace(b"\r", b"\n")
        if self.dialect.quoting and not self.quotes and b'"' in block:
            self.quotes = True
            block = self._without_comments(block, block.index(b'"'))
        elif not self.quotes:
            block = self._without_comments(block, len(block))
        if self.dialect.delimiter == BLANKS:
            block = _single_blanks(block)
        elif self._trim is not None and not self.quotes:
            block = self._trim.sub(self.dialect.delimiter.encode(), block)
        if self.watch_integers and not self.odd_integers:
            self.odd_integers = _odd_integers(block)
        if self.odd_integers and not self.hexadecimal:
            self.hexadecimal = b"0x" in block or b"0X" in block
        return block

    def _without_comments(self, block: bytes, until: int) -> bytes:
        """Remove comment lines up to the first quote: after it, a line may start inside a quoted value."""
        if self._comment is None or not any(sign in block for sign in self._comment_starts):
            return block
        until = block.rfind(b"\n", 0, until) + 1 if until < len(block) else until
        return self._comment.sub(b"", block[:until]) + block[until:]

    def read(self, size: int = -1) -> bytes:
        size = 1 << 62 if size is None or size < 0 else size
        while self._at >= len(self._ready):
            block = self._next()
            if not block:
                return b""
            self._ready, self._at = self._clean(block), 0
        data = self._ready[self._at : self._at + size]
        self._at += len(data)
        return data

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()


def _single_blanks(block: bytes) -> bytes:
    for sign in (b"\t", b"\r", b"\v", b"\f"):
        if sign in block:
            block = block.replace(sign, b" ")
    if b"  " in block:
        block = _BLANK_RUN.sub(b" ", block)
    if b" \n" in block:
        block = block.replace(b" \n", b"\n")
    if b"\n " in block:
        block = block.replace(b"\n ", b"\n")
    return block.strip(b" ") if block[:1] == b" " or block[-1:] == b" " else block


def _odd_integers(block: bytes) -> bool:
    """Whether the block may contain an integer with a leading zero, in hexadecimal, or minus zero."""
    signs = np.frombuffer(block, dtype=np.uint8)
    if len(signs) < 2:
        return False
    zero, after = signs[:-1] == ord("0"), signs[1:]
    suspect = zero & ((after - ord("0") < 10) | (after == ord("x")) | (after == ord("X")))
    suspect[1:] &= (signs[:-2] - ord("0") >= 10) & (signs[:-2] != ord("."))
    minus = (signs[:-1] == ord("-")) & (after == ord("0"))
    if not suspect.any() and not minus.any():
        return False
    return _ODD_INTEGER.search(block) is not None
