"""Resolves a path or URL: its suffixes, its file system, and the files of a folder or a glob."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from dgraph.errors import DgraphError, FileError

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
_TABLES = re.compile(r"/(_delta_log|\.hoodie|metadata(?=/[^/]*\.metadata\.json$))/")


@contextmanager
def explain_failure(
    path: Any, problem: str, remedy: str | None, kinds: tuple[type[Exception], ...] = (OSError, ValueError)
) -> Iterator[None]:
    """Turn exceptions of these kinds, which other libraries raise in the block, into a FileError for the path."""
    try:
        yield
    except (DgraphError, MemoryError):  # some of which are of these kinds, too
        raise
    except kinds as error:
        raise FileError(f"{problem}: {error}", path=path, remedy=remedy) from error


def split_suffix(path: str | os.PathLike) -> tuple[str, str, str]:
    """(stem, suffix, compression): `a/b.el.xz` is (`a/b`, `.el`, `.xz`); suffixes in lower case."""
    text = _split_chain(os.fspath(path))[1].rstrip("/")
    last = Path(text).suffix
    compression = last.lower() if last.lower() in COMPRESSED else ""
    text = text.removesuffix(last) if compression else text
    suffix = Path(text).suffix
    return text.removesuffix(suffix), suffix.lower(), compression


def _split_chain(url: str) -> tuple[str, str, str]:
    """Split a chain of URLs into (before, link, after), where `link` is the part that names files: `zip://a.csv` in
    `simplecache::zip://a.csv::s3://bucket/b.zip`. A path or a single URL is its own link."""
    links = url.split("::")
    at = next((place for place, link in enumerate(links) if "://" in link), 0)
    return "".join(f"{one}::" for one in links[:at]), links[at], "".join(f"::{one}" for one in links[at + 1 :])


def absolute_path(path: str | os.PathLike) -> str:
    """The path in a form that is also valid on workers, which may run in another folder."""
    chain, colons, last = os.fspath(path).rpartition("::")
    if not last or "://" in last:
        return os.fspath(path)
    return f"{chain}{colons}{Path(last).expanduser().absolute()}"


def filesystem(path: str | os.PathLike) -> tuple[Any, str]:
    """The fsspec file system of a path or URL, and the path inside it."""
    if not os.fspath(path):
        raise FileError("an empty string is not a path", path="''", remedy="the current folder is '.'")
    remedy = "use a local path, or a URL whose protocol fsspec supports, and install the package it needs"
    with explain_failure(path, "cannot be opened", remedy, (ValueError, ImportError, TypeError)):
        return fsspec.core.url_to_fs(os.fspath(path))


def expand(path: str | os.PathLike, suffixes: tuple[str, ...] = ()) -> list[str]:
    """A sorted list of the files that a path, a glob or a folder stands for. A folder stands for its files with one of
    the suffixes or, if there are none, those without a suffix. A glob that matches only folders stands for their
    files."""
    fs, inner = filesystem(path)
    with explain_failure(path, "cannot be listed", "check the path and its permissions"):
        if fs.isfile(inner):
            return [os.fspath(path)]
        if fs.isdir(inner):
            names = _below(fs, [inner], suffixes)
            what = f"the folder holds no {', '.join(suffixes)} file" if suffixes else "the folder holds no file"
        elif any(sign in inner for sign in "*?["):
            names, what = _matching(fs, inner, suffixes), "no file matches this pattern"
        else:
            names, what = [], "there is no such file"
    if not names:
        raise FileError(what, path=path, remedy="check the path")
    before, link, behind = _split_chain(os.fspath(path))
    if before or behind:
        return [f"{before}{link.partition('://')[0]}://{name}{behind}" for name in sorted(names)]
    return [name if is_local(fs) else fs.unstrip_protocol(name) for name in sorted(names)]


def _below(fs: Any, folders: list[str], suffixes: tuple[str, ...]) -> list[str]:
    """The data files in folders: those with one of the suffixes, else those without any suffix, as Hive and Hadoop
    write them."""
    files: list[str] = []
    for folder in folders:
        names = fs.find(folder)
        _refuse_tables(folder, names)
        files += [name for name in names if _is_data(name, folder)]
    named = [name for name in files if split_suffix(name)[1] in suffixes]
    return named or [name for name in files if not (suffixes and split_suffix(name)[1])]


def _refuse_tables(folder: str, names: list[str]) -> None:
    for name in names:
        if table := _TABLES.search(f"/{name[len(folder) :]}"):
            kind = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}.get(table[1], "Iceberg")
            remedy = f"read it with a library for {kind}, and pass the frame to Graph.from_edges"
            raise FileError(f"this is a {kind} table, whose files also hold deleted rows", path=folder, remedy=remedy)


def _matching(fs: Any, pattern: str, suffixes: tuple[str, ...]) -> list[str]:
    """The files that match, or else the files in the folders that match."""
    parts = pattern.split("/")
    first = next(place for place, part in enumerate(parts) if any(sign in part for sign in "*?["))
    entries = fs.glob(pattern, detail=True)
    if not any(part.startswith((".", "_")) for part in parts[first:]):  # otherwise the pattern asks for hidden files
        entries = {name: entry for name, entry in entries.items() if _is_data(name, "/".join(parts[:first]))}
    named = [name for name, entry in entries.items() if entry["type"] == "file" or fs.isfile(name)]  # links are "other"
    return named or _below(fs, [name for name in entries if fs.isdir(name)], suffixes)


def _is_data(name: str, folder: str) -> bool:
    """Whether a file below a folder is data. As in Spark, files and folders called `.name` or `_name` are logs and
    drafts; `_name=1` is a partition column."""
    parts = name[len(folder) :].strip("/").split("/")
    return not any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)


def is_local(fs: Any) -> bool:
    return isinstance(fs, LocalFileSystem)
