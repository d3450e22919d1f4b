"""Finds a plot by name. Each file in `plots/` draws one."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from dgraph.errors import OptionError

PLOTS = "dgraph.bench.plots"


def plot(name: str) -> tuple[Callable[..., str], str]:
    """The function `draw` of a plot, and the rows that it reads (`READS` in its file)."""
    if not name.isidentifier() or name == "style" or find_spec(f"{PLOTS}.{name}") is None:
        known = sorted(
            path.stem
            for path in (Path(__file__).parent / "plots").glob("*.py")
            if path.stem not in ("__init__", "style")
        )
        raise OptionError(f"{name!r} is not a plot; choose from {', '.join(known)}")
    module = import_module(f"{PLOTS}.{name}")
    return module.draw, module.READS
