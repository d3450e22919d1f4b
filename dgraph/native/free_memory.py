"""The memory that this process can still allocate, and the error when that is not enough."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dgraph.errors import OptionError, RoomError

LIMIT = "DGRAPH_MEMORY"  # an environment variable: bytes that each process may use, such as "4 GiB"
MEMBERSHIP = Path("/proc/self/cgroup")  # the control groups of this process
GROUPS = Path("/sys/fs/cgroup")  # where their limits are
UNITS = "", "k", "m", "g", "t"  # powers of 1000 before "b", else of 1024
REMEDY = "use a machine or a limit with more memory"
FEW = 1 << 25  # bytes that are always taken to be free
STATUS = Path("/proc/self/status")  # what this process uses


def free_memory() -> int:
    """The bytes that this process can still allocate: what the machine has, or what a limit leaves. There may be limits
    of the address space, of the process's control group (version 1 or 2), and the user's own (`memory=`,
    `DGRAPH_MEMORY`)."""
    return min(_machine(), address_space(), _control_groups(), _users_limit())


def has_room(size: int) -> bool:
    """Whether this process can allocate so many bytes. (Asking the system takes longer than small graphs.)"""
    return size <= FEW or size <= free_memory()


def _machine() -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


def _control_groups() -> int:
    """The bytes that the process's control group and the groups around it leave."""
    left = sys.maxsize
    with suppress(OSError):
        for line in MEMBERSHIP.read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0":
                folder, files = GROUPS, ("memory.max", "memory.current", "(?:in)?active_file")
            elif "memory" in controllers.split(","):
                folder, files = (
                    GROUPS / "memory",
                    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_(?:in)?active_file"),
                )
            else:
                continue
            group = folder / path.strip("/")
            left = min(left, *(_left_in(one, *files) for one in (group, *group.parents) if one.is_relative_to(folder)))
    return left


def _left_in(group: Path, limit: str, usage: str, cache: str) -> int:
    """The bytes that a control group leaves; files that it only caches count as free. `cache` is a pattern."""
    with suppress(OSError, ValueError):  # there is no such group, or no limit: "max"
        most, used = (int((group / name).read_text()) for name in (limit, usage))
        cached = re.findall(rf"^{cache} (\d+)$", (group / "memory.stat").read_text(), re.MULTILINE)
        return max(0, most - used + sum(map(int, cached)))
    return sys.maxsize


@contextmanager
def within(limit: int | None) -> Iterator[None]:
    """While the block runs, let all threads plan for at most so many bytes of this process, if there is a limit."""
    if limit is None:
        yield
        return
    _limits.append(limit)
    try:
        yield
    finally:
        _limits.remove(limit)


_limits: list[int] = []  # of the blocks that run now


def _users_limit() -> int:
    limits = list(_limits)
    if text := os.environ.get(LIMIT, "").strip():
        limit = parse_bytes(text)
        if limit is None:
            raise OptionError(f'{LIMIT}={text!r} must be a number of bytes, such as 4294967296 or "4 GiB"')
        limits.append(limit)
    if not limits:
        return sys.maxsize
    taken = 0
    with suppress(OSError):  # without the pages of files, which the system can drop
        taken = 1024 * sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", STATUS.read_text(), re.MULTILINE)))
    return max(0, min(limits) - taken)


def address_space() -> int:
    """The bytes of addresses that this process can still use, for memory and for maps of files."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return max(0, limit - taken)


def parse_bytes(text: str) -> int | None:
    """The bytes that a text such as "4 GiB", "1.5g", "4 GB" or "4096" names; None for any other text."""
    found = re.fullmatch(r"(\d{1,20}(?:\.\d+)?)\s*([kmgt]?)(i?b)?", text.strip().lower())
    return int(float(found[1]) * (1000 if found[3] == "b" else 1024) ** UNITS.index(found[2])) if found else None


def size_in_words(size: int) -> str:
    """A number of bytes in readable form: "1.50 GiB"."""
    units = ("TiB", 40), ("GiB", 30), ("MiB", 20), ("kiB", 10)
    return next((f"{size / (1 << bits):,.2f} {unit}" for unit, bits in units if size >= 1 << bits), f"{size} bytes")


def refuse_beyond_memory(what: str, need: int, free: int | None = None, remedy: str = REMEDY) -> None:
    """Raise a RoomError if `what` needs more bytes than are free."""
    if need > (free := free_memory() if free is None else free):
        raise RoomError(
            f"{what} need about {size_in_words(need)} of memory, but only {size_in_words(free)} are free ({remedy})"
        )


@contextmanager
def explain_lack_of_memory(what: Any, doing: str = "read it") -> Iterator[None]:
    """Turn a lack of memory in the block into a RoomError with the sizes. `what` is a file, or what is being made."""
    try:
        yield
    except MemoryError as error:
        wanted = f": {error}" if str(error) else ""
        free = size_in_words(free_memory())
        raise RoomError(f"{what}: not enough memory to {doing}, {free} are free{wanted} ({REMEDY})") from error
