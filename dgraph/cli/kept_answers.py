"""Answers that are kept with a saved graph under a name, from which later runs go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dgraph.cli.signatures import NOT_HERE
from dgraph.errors import OptionError

if TYPE_CHECKING:
    from dgraph.building.saved_graph import SavedGraph

KEEP = click.option(
    "--keep", metavar="NAME", help="Save the values under this name, with the newest version of the saved graph EDGES."
)
PREVIOUS = click.option(
    "--previous",
    type=click.Path(),
    metavar="NAME",
    help="An earlier result to start from: the name under which --keep has saved it with the saved graph EDGES. Only "
    "what has changed since is computed, as far as that is possible.",
)


def can_go_on(operation: str) -> bool:
    """Whether an operation takes an earlier result."""
    return "previous" in NOT_HERE.get(operation, ())


class KeptAnswers:
    """The answers that are kept with the saved graph in a folder."""

    def __init__(self, path: str, keep: str | None, previous: str | None):
        self.path, self.keep, self.previous = path, keep, previous

    def check(self) -> None:
        """Refuse, before any work, what cannot be kept or gone on from."""
        if self.keep is None and self.previous is None:
            return
        saved = self._saved()
        if self.keep is not None and self.keep in saved.results:
            has = f"{self.path} already has values {self.keep!r} for version {saved.number}, its newest one"
            raise OptionError(f"--keep {self.keep}: {has}; choose another name, or leave --keep out")
        if self.previous is not None:
            self._version_with(self.previous, saved)

    def or_file(self, name: str | None) -> str | None:
        """What is a name or a file: None if it is the name of a kept answer, from which the run then goes on."""
        if name is None or not self._is_saved or name not in self._versions(self._saved()):
            return name
        self.previous = name
        return None

    def earlier(self) -> Any:
        """The result to go on from."""
        import dgraph as dg

        assert self.previous is not None
        version = self._version_with(self.previous, self._saved())
        return dg.open_graph(self.path, version=version).results[self.previous]

    def save(self, graph: Any, result: Any) -> None:
        """Keep a result, if that was asked for."""
        if self.keep is not None:
            graph.save(self.path, results={self.keep: result})

    @property
    def _is_saved(self) -> bool:
        from dgraph.building.saved_graph import MANIFEST

        return (Path(self.path) / MANIFEST).is_file()

    def _saved(self) -> SavedGraph:
        from dgraph.building.saved_graph import SavedGraph, local_folder

        if not self._is_saved:
            option = f"--keep {self.keep}" if self.keep is not None else f"--previous {self.previous}"
            remedy = f"save it first: dgraph partition {self.path} -o GRAPH"
            raise OptionError(f"{option} is for saved graphs, and {self.path} is none; {remedy}")
        return SavedGraph.find(local_folder(self.path))

    @staticmethod
    def _versions(saved: SavedGraph) -> dict[str, int]:
        """The newest version with a result of each name."""
        kept = [saved.content.get("results", {}), *(one["results"] for one in saved.changes)]
        return {name: number for number, results in enumerate(kept, saved.first.number) for name in results}

    def _version_with(self, name: str, saved: SavedGraph) -> int:
        versions = self._versions(saved)
        if name not in versions:
            names = ", ".join(map(repr, sorted(versions)))
            has = f"it has {names}" if names else "it has none yet; `dgraph run ... --keep NAME` saves some"
            raise OptionError(f"--previous {name}: {self.path} has no values of that name; {has}")
        return versions[name]
