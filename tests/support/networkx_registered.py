"""The backend as NetworkX finds it: by the entry points of pyproject.toml, also where the package was installed without
them."""

import os
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).parents[2]


def is_registered() -> bool:
    return bool(entry_points(group="networkx.backends", name="dgraph"))


def write_entry_points(folder: Path) -> None:
    """A distribution in this folder that has only the entry points for NetworkX."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    info = folder / "networkx_entry_points-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: networkx-entry-points\nVersion: 0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in groups[group].items())
        for group in ("networkx.backends", "networkx.backend_info")
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a process in which NetworkX finds the backend of this clone."""
    paths = [str(ROOT), str(ROOT / "tests/support")]
    if not is_registered():
        write_entry_points(folder)
        paths.append(str(folder))
    return {**os.environ, **variables, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
