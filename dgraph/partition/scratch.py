"""Arrays that are too large for memory, in files without names, which vanish with the process, however it ends."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from dgraph.errors import StorageError
from dgraph.native.free_memory import size_in_words

SYNCED = 1 << 27  # bytes that may wait in memory until they are written to disk
MOUNTS = Path("/proc/self/mountinfo")  # file systems, by the number of their device
AT_ONCE = 1 << 22  # values that are read at once
LARGE_FILES = Path("/var/tmp")
LONGEST = 1 << 30  # bytes that are read or written at once; some systems refuse 2 GiB
REMEDY = "choose another folder with Dask's setting temporary-directory"


@dataclass(frozen=True)
class ScratchFolder:
    """A folder for such files."""

    folder: str

    def require(self, size: int, what: str) -> None:
        """Refuse what needs more bytes than the folder's disk has left, and a folder that is itself in memory or cannot
        be written."""
        with self.explaining():
            tempfile.TemporaryFile(dir=self.folder).close()
            free = self.free
            if is_in_memory(self.folder):
                raise StorageError(f"the scratch folder {self.folder} is itself in memory (tmpfs); {REMEDY}")
        if size > free:
            raise StorageError(
                f"{what} need {size_in_words(size)} of disk in the scratch folder {self.folder}, where "
                f"{size_in_words(free)} are free; {REMEDY}"
            )

    @property
    def free(self) -> int:
        """The bytes that its disk has left."""
        with self.explaining():
            return shutil.disk_usage(self.folder).free

    def array(self, size: int, dtype: DTypeLike) -> ScratchArray:
        with self.explaining(), tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
            return ScratchArray(self, os.dup(file.fileno()), size, np.dtype(dtype))

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Name the folder in errors of the disk."""
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            what = "is full" if full else f"cannot be used ({error.strerror or error})"
            raise StorageError(f"the scratch folder {self.folder} {what}; {REMEDY}") from error


def usual_folder() -> str:
    """The system's folder for temporary files, or the one for large ones if that is in memory."""
    try:
        usual = tempfile.gettempdir()
    except OSError as error:
        raise StorageError(f"there is no folder for temporary files ({error}); {REMEDY}") from error
    return str(LARGE_FILES) if LARGE_FILES.is_dir() and is_in_memory(usual) else usual


def is_in_memory(folder: str) -> bool:
    """Whether the files of a folder are kept in memory (on Linux; elsewhere nothing is known)."""
    try:
        device, mounts = Path(folder).stat().st_dev, MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return False
    fields = (line.split(" - ", 1) for line in mounts if " - " in line)
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(where.split()[2] == number and kind.split()[0] in ("tmpfs", "ramfs") for where, kind in fields)


class ScratchArray:
    """An array in a file, which threads write and read by slices."""

    def __init__(self, scratch: ScratchFolder, file: int, size: int, dtype: np.dtype):
        self.scratch, self.file, self.size, self.dtype = scratch, file, size, dtype
        self._written = 0  # bytes since the last sync
        # closed when no thread refers to this any more: its number may then be that of another file
        self.close = weakref.finalize(self, os.close, file)

    def write(self, start: int, values: np.ndarray) -> None:
        """Set the values from `start` on."""
        left, at = memoryview(np.ascontiguousarray(values, self.dtype)).cast("B"), start * self.dtype.itemsize
        with self.scratch.explaining():
            while left:
                done = os.pwrite(self.file, left[:LONGEST], at)
                left, at, self._written = left[done:], at + done, self._written + done
            if self._written > SYNCED:
                self.sync()

    def append(self, values: np.ndarray) -> None:
        self.write(self.size, values)
        self.size += len(values)

    def __iter__(self) -> Iterator[np.ndarray]:
        """The values from first to last, some at a time."""
        for start in range(0, self.size, AT_ONCE):
            yield self.read(start, min(start + AT_ONCE, self.size))

    def read(self, start: int, stop: int) -> np.ndarray:
        values = np.empty(stop - start, self.dtype)
        left, at = memoryview(values).cast("B"), start * self.dtype.itemsize
        with self.scratch.explaining():
            while left:
                done = os.preadv(self.file, [left[:LONGEST]], at)
                if not done:
                    raise OSError(errno.EIO, "a file of it is shorter than what was written")
                left, at = left[done:], at + done
        return values

    def sync(self) -> None:
        """Write to disk what waits in memory, so that the system can drop it there."""
        self._written = 0
        os.fsync(self.file)

    def mapped(self) -> np.ndarray:
        """The whole array. The system reads pages when they are first used, and drops them when memory is short. It is
        mapped such that kernels see an ordinary array, and shared, since the system would count private pages."""
        if not self.size:
            return np.empty(0, self.dtype)
        with self.scratch.explaining(), open(self.file, "r+b", buffering=0, closefd=False) as file:
            return np.memmap(file, self.dtype, "r+", shape=(self.size,)).view(np.ndarray)
