"""A daemon: a device at work for one program. States ask daemons to run kernels, and know nothing of devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dgraph.codegen.recipe import Recipe
from dgraph.devices.cpu import Cpu
from dgraph.devices.cuda import Cuda
from dgraph.devices.probe import need_cuda


class Daemon(Protocol):
    """Runs kernels by name; their other arguments come by name too."""

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Over rows 0 to count at once, for kernels that want one thread a partition."""

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Over ranges of the rows first to count, in any order, of `block` rows each if that is given; (begin, what the
        kernel returned) of each."""


def start_daemon(device: str, recipe: Recipe, threads: int = 1) -> Daemon:
    """A daemon in this process, for kernels that were generated for the device."""
    if device == "cuda":
        need_cuda()
        return Cuda(recipe)
    return Cpu(recipe.kernels, threads)
