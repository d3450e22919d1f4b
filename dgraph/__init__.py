"""dgraph: graph algorithms on Dask.

Public names are those of `__init__.pyi`. They are imported on first use, so that `import dgraph` itself is almost free.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.10.0"

_STUB = Path(__file__).with_suffix(".pyi").read_text()
_IMPORTS = re.findall(r"^from (\S+) import ([^(\n]+|\([^)]+\))$", _STUB, re.MULTILINE)
_HOME = {name: home for home, names in _IMPORTS for name in re.findall(r"(\w+) as \1", names)}

__all__ = ["__version__", *_HOME]
# operations that take any graph; `factorize` takes ratings of items by users
OPERATIONS = tuple(name for name, home in _HOME.items() if home.startswith("dgraph.ops.") and name != "factorize")
ALL_OPERATIONS = (*OPERATIONS, "factorize")


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from dgraph.phrases.suggestions import suggestion

        said = "" if name.startswith("_") else suggestion(name, [*__all__, "Graph.from_edges"], operations=True)
        raise AttributeError(f"module 'dgraph' has no attribute {name!r}{said and f'; {said}'}")
    from dgraph.native.garbage import defer_collection  # imported here to keep `import dgraph` cheap

    home = _HOME[name]
    with defer_collection():
        is_module = home in ("dgraph", "dgraph.programs")
        value = import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
