"""What a folder of blocks says of itself: JSON with a version, its own checksum, and the shape that its reader expects.

A checksum finds damage, not malice, so all that is read is looked at before it is used; names of blocks are checked to
be nothing but names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import xxhash

from dgraph.errors import StorageError

Test = Callable[[Any], bool]
Expected = Mapping[str, Test]

_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
LARGEST = 1 << 62


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def is_number_type(value: Any) -> bool:
    """Whether this names a type of numbers, as NumPy writes it."""
    return isinstance(value, str) and re.fullmatch(r"[<>|=]?[biuf][1-9][0-9]?", value) is not None and _exists(value)


def is_blocks(value: Any) -> bool:
    """Whether this lists blocks: names that are no paths, with a size and a checksum each."""
    return isinstance(value, dict) and all(
        _NAME.fullmatch(name) is not None
        and isinstance(entry, dict)
        and is_count(entry.get("bytes"))
        and is_text(entry.get("checksum"))
        for name, entry in value.items()
    )


def list_of(test: Test) -> Test:
    """A test whether a value is a list of which each element passes."""
    return lambda value: isinstance(value, list) and all(map(test, value))


def one_of(*values: Any) -> Test:
    """A test whether a value is one of these."""
    return lambda value: any(value is one or (isinstance(one, str) and value == one) for one in values)


def either(*tests: Test) -> Test:
    """A test whether a value passes one of these."""
    return lambda value: any(test(value) for test in tests)


def checksum_of(content: Any) -> str:
    """The checksum of what JSON can hold, whatever the order of its keys."""
    return xxhash.xxh3_128_hexdigest(json.dumps(content, sort_keys=True).encode())


def manifest_text(kind: str, version: int, content: Any) -> str:
    """The text of a manifest, for `read_manifest`."""
    return json.dumps({"format": kind, "version": version, "checksum": checksum_of(content), "content": content})


def read_manifest(text: bytes, kind: str, version: int, shape: Expected, *, path: Any, remedy: str) -> dict[str, Any]:
    """The content of a manifest, which is of this kind and version, unchanged, and of the expected shape."""
    try:
        manifest = json.loads(text)
        content, found, checksum = manifest["content"], manifest["version"], manifest["checksum"]
        right = checksum == checksum_of(content)
    except (ValueError, KeyError, TypeError, RecursionError) as cause:
        raise StorageError(f"{path}: not the manifest of a {kind} ({cause!r}); {remedy}") from cause
    if manifest.get("format") != kind:
        raise StorageError(f"{path}: the manifest of a {str(manifest.get('format'))[:40]!r}, not of a {kind}")
    if found != version:
        raise StorageError(f"{path}: written in format {str(found)[:40]}; this release reads format {version}")
    if not right:
        raise StorageError(f"{path}: its checksum is wrong, so it was changed; {remedy}")
    if not isinstance(content, dict):
        raise StorageError(f"{path}: its content is no table of names; {remedy}")
    for name, test in shape.items():
        if name not in content or not test(content[name]):
            said = repr(content.get(name))[:60]
            raise StorageError(f"{path}: {name}={said} is not what a {kind} says; {remedy}")
    return content


@contextmanager
def fitting(path: Any, remedy: str) -> Iterator[None]:
    """Have errors in the block, where blocks do not fit the manifest or each other, raised as a StorageError."""
    try:
        yield
    except (KeyError, IndexError, ValueError, TypeError, OverflowError, AttributeError, MemoryError) as cause:
        raise StorageError(f"{path}: its blocks do not fit together ({cause!r:.200}); {remedy}") from cause


def require(fits: Any, what: str) -> None:
    """Raise an error that `fitting` makes a StorageError of, unless something fits."""
    if not fits:
        raise ValueError(what)


def _exists(name: str) -> bool:
    try:
        return np.dtype(name).kind in "biuf"
    except TypeError:
        return False
