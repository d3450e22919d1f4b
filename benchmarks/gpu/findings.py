"""What was seen on a machine with a GPU, a line each; a check that fails does not end the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

OK, MISSED, FAILED, NOT_RUN = "ok", "missed", "FAILED", "not run"


class Missed(Exception):
    """A right answer, but not as fast as it must be."""


@dataclass
class Findings:
    """Rows of the table: what was checked, how it went, what was found."""

    lines: list[tuple[str, str, str]] = field(default_factory=list)

    def check(self, what: str, do: Callable[..., str], *arguments: Any) -> None:
        try:
            how, said = OK, do(*arguments)
        except Missed as missed:
            how, said = MISSED, str(missed)
        except Exception as error:  # whatever it is, it belongs into the table
            how, said = FAILED, f"{type(error).__name__}: {str(error)[:200]}"
        self._note(what, how, said)

    def left_out(self, what: str, why: str) -> None:
        self._note(what, NOT_RUN, why)

    def _note(self, what: str, how: str, said: str) -> None:
        self.lines.append((what, how, said))
        print(f"{how:8}{what}: {said}", flush=True)

    @property
    def markdown(self) -> str:
        rows = (f"| {what} | {how} | {' '.join(said.replace('|', '/').split())} |" for what, how, said in self.lines)
        return "\n".join(["| check | | found |", "|---|---|---|", *rows])

    @property
    def failed(self) -> int:
        return sum(how == FAILED for _, how, _ in self.lines)


def wanted(said: str, *reached: bool) -> str:
    """What was found, if all is as it must be."""
    if not all(reached):
        raise Missed(said)
    return said
