"""What a path or a URL stands for: its suffixes, its file system, and the files of a folder or a glob."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import fsspec

from dgraph.errors import FileError

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
_TABLES = re.compile(r"/(_delta_log|\.hoodie|metadata(?=/[^/]*\.metadata\.json$))/")


def split_suffix(path: str | os.PathLike) -> tuple[str, str, str]:
    """(stem, suffix, compression): `a/b.el.xz` is (`a/b`, `.el`, `.xz`); suffixes in lower case."""
    text = _in_chain(os.fspath(path))[1].rstrip("/")
    compression = Path(text).suffix.lower()
    if compression in COMPRESSED:
        text = text[: -len(compression)]
    else:
        compression = ""
    suffix = Path(text).suffix
    return (text[: -len(suffix)] if suffix else text), suffix.lower(), compression


def _in_chain(url: str) -> tuple[str, str, str]:
    """What stands before, is, and stands behind the link of a chain of URLs that names files: `zip://a.csv` of
    `simplecache::zip://a.csv::s3://bucket/b.zip`. A path, or a URL alone, is that link itself."""
    links = url.split("::")
    place = next((place for place, link in enumerate(links) if "://" in link), 0)
    return "".join(f"{one}::" for one in links[:place]), links[place], "".join(f"::{one}" for one in links[place + 1 :])


def from_anywhere(path: str | os.PathLike) -> str:
    """The path as workers find it, who may have been started in another folder."""
    before, name, behind = _in_chain(os.fspath(path))
    last = behind.rpartition("::")[2]
    if last and "://" not in last:
        return f"{before}{name}{behind[: -len(last)]}{_absolute(last)}"
    return f"{before}{name}{behind}" if "://" in name else _absolute(name)


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def filesystem(path: str | os.PathLike) -> tuple[Any, str]:
    """The fsspec file system of a path or URL, and the path inside it."""
    if not os.fspath(path):
        raise FileError("is no path", path="''", remedy="the current folder is '.'")
    try:
        return fsspec.core.url_to_fs(os.fspath(path))
    except (ValueError, ImportError, TypeError) as error:
        remedy = "use a local path, or a URL whose protocol fsspec knows and has the package for"
        raise FileError(f"cannot be opened: {error}", path=path, remedy=remedy) from error


def expand(path: str | os.PathLike, suffixes: tuple[str, ...] = ()) -> list[str]:
    """The files that a path, a glob or a folder stands for, sorted; of folders, those with one of the suffixes, else
    those with none. A glob that matches folders and no file stands for what is in them."""
    fs, inner = filesystem(path)
    try:
        if fs.isfile(inner):
            return [os.fspath(path)]
        if fs.isdir(inner):
            found = _below(fs, [inner], suffixes)
            what = f"the folder holds no {', '.join(suffixes)} file" if suffixes else "the folder holds no file"
        elif any(sign in inner for sign in "*?["):
            found, what = _matching(fs, inner, suffixes), "no file matches this pattern"
        else:
            found, what = [], "there is no such file"
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"cannot be looked up: {error}", path=path, remedy="check the path and its rights") from error
    if not found:
        raise FileError(what, path=path, remedy="check the path")
    before, link, behind = _in_chain(os.fspath(path))
    if before or behind:
        return [f"{before}{link.partition('://')[0]}://{name}{behind}" for name in sorted(found)]
    return [name if is_local(fs) else fs.unstrip_protocol(name) for name in sorted(found)]


def _below(fs: Any, folders: list[str], suffixes: tuple[str, ...]) -> list[str]:
    """The files in folders that are data, with one of the suffixes, or if there are none, without any: so Hive and
    Hadoop call theirs."""
    found: list[str] = []
    for folder in folders:
        names = fs.find(folder)
        _refuse_tables(folder, names)
        found += [name for name in names if _is_data(name, folder)]
    named = [name for name in found if split_suffix(name)[1] in suffixes]
    return named or [name for name in found if not (suffixes and split_suffix(name)[1])]


def _refuse_tables(folder: str, names: list[str]) -> None:
    for name in names:
        if found := _TABLES.search(f"/{name[len(folder) :]}"):
            kind = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}.get(found[1], "Iceberg")
            remedy = f"read it by a library that knows {kind}, and give Graph.from_edges the frame"
            raise FileError(f"a table of {kind}, whose files hold deleted rows, too", path=folder, remedy=remedy)


def _matching(fs: Any, pattern: str, suffixes: tuple[str, ...]) -> list[str]:
    """The files that match, else those in folders that do."""
    parts = pattern.split("/")
    first = next(place for place, part in enumerate(parts) if any(sign in part for sign in "*?["))
    found = fs.glob(pattern, detail=True)
    if not any(part.startswith((".", "_")) for part in parts[first:]):  # else they are asked for
        found = {name: entry for name, entry in found.items() if _is_data(name, "/".join(parts[:first]))}
    named = [name for name, entry in found.items() if entry["type"] == "file" or fs.isfile(name)]  # links are "other"
    return named or _below(fs, [name for name in found if fs.isdir(name)], suffixes)


def _is_data(name: str, folder: str) -> bool:
    """Whether a file is data of the folder that it is below: not where it, or a folder between, is called `.name`, or
    `_name` and is no value of a column, as `_name=1` is. So it is for Spark, whose logs and drafts are called so."""
    parts = name[len(folder) :].strip("/").split("/")
    return not any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)


def is_local(fs: Any) -> bool:
    """Whether a file system is that of this machine."""
    protocol = fs.protocol if isinstance(fs.protocol, (tuple, list)) else (fs.protocol,)
    return "file" in protocol or "local" in protocol
