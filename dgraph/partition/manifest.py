"""Manifests of folders of blocks: JSON with a version, a checksum of the content, and the fields that a reader expects.

A checksum detects damage, not malice, so every value is checked before it is used, and block names must not be paths.
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
from dgraph.native.free_memory import explain_lack_of_memory

Test = Callable[[Any], bool]

_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
LARGEST_COUNT = 1 << 62
_MISSING = object()  # stands for a field that a manifest does not have


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_COUNT


def is_number_type(value: Any) -> bool:
    """Whether `value` is NumPy's name of a numeric type."""
    if not isinstance(value, str) or re.fullmatch(r"[<>|=]?[biuf][1-9][0-9]?", value) is None:
        return False
    try:
        return np.dtype(value).kind in "biuf"
    except TypeError:
        return False


def is_blocks(value: Any) -> bool:
    """Whether `value` lists blocks: names that are not paths, each with a size and a checksum."""
    return isinstance(value, dict) and all(
        _NAME.fullmatch(name) is not None
        and isinstance(entry, dict)
        and is_count(entry.get("bytes"))
        and is_text(entry.get("checksum"))
        for name, entry in value.items()
    )


def list_of(test: Test) -> Test:
    """A test for lists whose elements all pass `test`."""
    return lambda value: isinstance(value, list) and all(map(test, value))


def optional(test: Test) -> Test:
    """A test for a field that manifests of earlier releases do not have."""
    return lambda value: value is _MISSING or test(value)


def table_of(test: Test) -> Test:
    """A test for tables of names whose values all pass `test`."""
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def checksum_of(content: Any) -> str:
    """The checksum of a JSON value, independent of the order of keys."""
    return xxhash.xxh3_128_hexdigest(json.dumps(content, sort_keys=True).encode())


def manifest_text(kind: str, version: int, content: Any) -> str:
    """The text of a manifest, which `read_manifest` reads."""
    return json.dumps({"format": kind, "version": version, "checksum": checksum_of(content), "content": content})


def read_manifest(
    text: bytes, kind: str, version: int, shape: Mapping[str, Test], *, path: Any, remedy: str, oldest: int = 0
) -> dict[str, Any]:
    """The content of a manifest, after checking its kind, version, checksum and fields. With `oldest`, any version from
    `oldest` to `version` is accepted."""
    try:
        manifest = json.loads(text)
        content, written, checksum = manifest["content"], manifest["version"], manifest["checksum"]
        is_intact = checksum == checksum_of(content)
    except (ValueError, KeyError, TypeError, RecursionError) as cause:
        raise StorageError(f"{path}: not the manifest of a {kind} ({cause!r}); {remedy}") from cause
    if manifest.get("format") != kind:
        raise StorageError(f"{path}: expected the manifest of a {kind}, got {str(manifest.get('format'))[:40]!r}")
    if not is_count(written) or not (oldest or version) <= written <= version:
        raise StorageError(f"{path}: written in format {str(written)[:40]}; this release reads format {version}")
    if not is_intact:
        raise StorageError(f"{path}: wrong checksum, so the file was changed; {remedy}")
    if not isinstance(content, dict):
        raise StorageError(f"{path}: its content is not a table of names; {remedy}")
    for name, test in shape.items():
        if not test(content.get(name, _MISSING)):
            value = repr(content.get(name))[:60]
            raise StorageError(f"{path}: {name}={value} is not valid in a {kind}; {remedy}")
    return content


@contextmanager
def refuse_mismatch(path: Any, remedy: str) -> Iterator[None]:
    """Turn errors from blocks that do not match the manifest or each other into a StorageError."""
    try:
        with explain_lack_of_memory(path):
            yield
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RuntimeError) as cause:
        raise StorageError(f"{path}: its blocks do not match ({cause!r:.200}); {remedy}") from cause


def require(condition: Any, what: str) -> None:
    """Raise a ValueError unless `condition` holds; `refuse_mismatch` turns it into a StorageError."""
    if not condition:
        raise ValueError(what)
