"""The map of the rooms: a line for each folder of dgraph/, from its `__init__.py`. CONTRIBUTING.md has a copy.

python tests/support/rooms.py > the map
"""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "dgraph"


def room_map() -> list[str]:
    """A line for each room: its folder, and the first line of its docstring."""
    rooms = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)
    return [f"* `{room.relative_to(PACKAGE)}/`: {says(room)}" for room in rooms]


def says(room: Path) -> str:
    return (ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in room_map())
