"""A folder that appears complete or not at all, and replaces an older one in one step.

A writer fills a folder next to the target. As long as it lives, it holds a lock on a file next to that folder. So an
unlocked folder was left by a writer that was killed, and the next writer removes it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from dgraph.errors import StorageError

HERE, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
MOMENT = 0.01  # seconds before a lock is tried again


@contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """A new folder next to `folder`, for a writer to fill and then `put` in its place. It is removed at the end if it
    is still there; if the writer fails, the parent folders that had to be created are removed too."""
    made = [parent for parent in folder.parents if not parent.exists()]  # the lowest first
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
        new = _beside(folder, uuid4().hex)
        lock = _lock(_lock_of(new))
    except OSError as cause:
        _remove(made)
        raise StorageError(f"{folder}: cannot be written ({cause})") from cause
    try:
        new.mkdir()
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        _release(_lock_of(new), lock)
        _remove(made)  # unless the folder is there now


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within the block, no other writer changes or replaces `folder`: they wait. On file systems without locks they do
    not."""
    path = folder.with_name(f".{folder.name}.lock")
    lock = _lock(path)
    try:
        yield
    finally:
        _release(path, lock)


def put(new: Path, folder: Path, *, replaces: bool) -> None:
    """Move the complete folder `new`, which `beside` created, into place. With `replaces`, an older folder may be
    there: the two are exchanged, and `new` is then the older one. Where the system cannot do that, the older one is
    renamed first, and restored if the new one cannot be moved into place."""
    if replaces and exchange(new, folder):
        return
    old = new.with_name(f"{new.name}.old")
    if replaces and folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)  # another process may have put a folder there


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step. False if one is missing, or if the system or file system cannot do that."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0


def remove_leftovers(folder: Path) -> None:
    """Remove the leftovers of writers of `folder` that were killed. If one was killed after it had moved the older
    folder away, that folder is put back."""
    name = re.compile(re.escape(f".{folder.name}.") + r"([0-9a-f]{32})(\.old|\.lock)?")
    writers = {found[1] for path in folder.parent.iterdir() if (found := name.fullmatch(path.name))}
    for writer in writers:
        new = _beside(folder, writer)
        with suppress(OSError):  # the writer is alive, or its files are not ours
            lock = _lock(_lock_of(new), wait=False)
            old = new.with_name(f"{new.name}.old")
            if old.exists() and not folder.exists():
                old.rename(folder)
            for left in (new, old):
                shutil.rmtree(left, ignore_errors=True)
            _release(_lock_of(new), lock)


def _beside(folder: Path, writer: str) -> Path:
    return folder.with_name(f".{folder.name}.{writer}")


def _lock_of(new: Path) -> Path:
    return new.with_name(f"{new.name}.lock")


def _lock(path: Path, *, wait: bool = True) -> int:
    """Lock a file, which is created if it is missing. Whoever holds the lock removes the file before unlocking it, so
    the path may name another file by then; if so, try again. Where the file system has no locks, leftovers are never
    removed."""
    while True:
        file = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except OSError as error:
            if not wait:
                os.close(file)
                raise
            if not isinstance(error, BlockingIOError):
                return file
            time.sleep(MOMENT)
        os.close(file)


def _release(path: Path, lock: int) -> None:
    path.unlink(missing_ok=True)
    os.close(lock)


def _remove(empty: list[Path]) -> None:
    """Remove folders, except those that are no longer empty."""
    for path in empty:
        with suppress(OSError):
            path.rmdir()
