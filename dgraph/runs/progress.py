"""Shows the progress of a run: one line on a terminal, a card in a notebook, and nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Timer
from typing import TYPE_CHECKING, Any

from dgraph.phrases.phrases import format_count
from dgraph.phrases.printable import printable

if TYPE_CHECKING:
    from dgraph.display.notebook_output import NotebookOutput

EVERY = 0.2  # seconds between updates
CLEAR = "\r\033[K"  # erases the current line of a terminal


class Progress:
    """Calls `show` with a dict of counts so far: superstep, fired vertices, edges, bytes and seconds. When a worker
    does not answer, `silent` is its address; while the graph is built, `building` is what is done, and `done` the share
    of it. A `line` also shows what happens before the first superstep and at the end."""

    def __init__(self, show: Callable[[dict[str, Any]], Any] | None, line: ProgressLine | None = None):
        self.show, self.line = show, line
        self.started = self.shown = time.perf_counter()
        self.counts: dict[str, Any] = {"superstep": 0, "fired": 0, "edges": 0, "bytes": 0}

    @classmethod
    def of(cls, option: Any, title: str) -> Progress:
        """The Progress that the option `progress=` asks for. None shows a line on a terminal or in a notebook."""
        if callable(option):
            return cls(option)
        line = ProgressLine(title, stays=option is True)
        return cls(line.write, line) if (line.is_seen if option is None else option) else cls(None)

    @property
    def active(self) -> bool:
        return self.show is not None

    def prepare(self, what: str) -> None:
        """Show what happens next, before the first superstep."""
        if self.line is not None:
            self.line.prepare(what)

    def building(self, what: str, done: float, edges: int) -> None:
        """Called while the graph is built, with the step, the share of it that is done, and the edges read in it."""
        if self._due():
            assert self.show is not None
            self.shown = time.perf_counter()
            told = {"building": what, "done": done, "edges": edges, "seconds": self.shown - self.started}
            self.show({**self.counts, **told})

    def after_chunk(self, tokens: Sequence[Any]) -> None:
        """Called with the tokens of all workers after each chunk of steps."""
        self.after_counts([token.values for token in tokens])

    def after_counts(self, counts: Sequence[Mapping[str, Any]]) -> None:
        """Called with the round and the counts of each worker."""
        if self._due():
            sums = {name: sum(one[name] for one in counts) for name in ("fired", "edges", "bytes")}
            self._tell(max(one["round"] for one in counts), sums)

    def after_level(self, levels: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Called by a search for communities, with the number of levels so far and its report."""
        if self._due():
            fired, edges = (sum(row[name] for row in rows) for name in ("vertices", "edges"))
            self._tell(levels, {"fired": fired, "edges": edges, "bytes": 0})

    def _due(self) -> bool:
        return self.show is not None and time.perf_counter() - self.shown >= EVERY

    def _tell(self, superstep: int, sums: Mapping[str, int]) -> None:
        assert self.show is not None
        self.shown, self.counts = time.perf_counter(), {"superstep": superstep, **sums}
        self.show({**self.counts, "seconds": self.shown - self.started})

    def silent(self, worker: str) -> None:
        """Called with the address of a worker that the run waits for and that does not answer."""
        if self.show is not None:
            self.show({**self.counts, "seconds": time.perf_counter() - self.started, "silent": worker})

    def end(self, supersteps: int) -> None:
        """Called when the run has ended successfully."""
        if self.line is not None:
            self.line.end(supersteps, time.perf_counter() - self.started)

    def close(self) -> None:
        if self.line is not None:
            self.line.close()


def in_notebook() -> bool:
    """Whether the code runs in a notebook, which has loaded IPython and given it a kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _notebook_output() -> NotebookOutput:
    from dgraph.display.notebook_output import NotebookOutput

    return NotebookOutput()


class ProgressLine:
    """A line that is continually overwritten; in a notebook, a card. At the end it is erased from a terminal or a
    notebook, unless it `stays`."""

    written = float("-inf")  # when any line was last written

    def __init__(self, title: str, *, stays: bool = False) -> None:
        self.title, self.stays = title, stays
        self.length = 0
        self.timer: Timer | None = None
        self.on_terminal = bool(getattr(sys.stderr, "isatty", lambda: False)())
        self.notebook = _notebook_output() if not self.on_terminal and in_notebook() else None
        self.is_seen = self.on_terminal or self.notebook is not None

    def prepare(self, what: str) -> None:
        """Show what happens before the first superstep, if it takes a moment."""
        self._stop_timer()
        self.timer = Timer(EVERY, self._overwrite, [f"{self.title}: {what}"])
        self.timer.daemon = True
        self.timer.start()

    def write(self, done: dict[str, Any]) -> None:
        self._stop_timer()
        if "building" in done:
            share = f", {done['done']:.0%} ({done['edges'] / 1e6:,.0f} M edges)" if done["done"] else ""
            self._overwrite(f"{self.title}: {done['building']}{share}", done)
            return
        rate = done["edges"] / max(done["seconds"], 1e-9) / 1e6
        text = (
            f"{self.title}, superstep {done['superstep']}: {done['fired']:,} fired, {rate:,.0f} M edges/s, "
            f"{done['bytes'] / 1e6:,.1f} MB exchanged"
        )
        if "silent" in done:
            text += f"; {done['silent']} does not answer"
        self._overwrite(text, done)

    def end(self, supersteps: int, seconds: float) -> None:
        self._stop_timer()
        if self.stays:
            self._overwrite(f"{self.title}: {format_count(supersteps, 'superstep')} in {seconds:.3g} s")

    def _overwrite(self, text: str, done: Mapping[str, Any] = {}) -> None:
        text = printable(text)
        if self.notebook is not None:
            self.notebook.show(text, done)
            return
        sys.stderr.write(f"\r{text:<{self.length}}")
        sys.stderr.flush()
        self.length, ProgressLine.written = len(text), time.perf_counter()

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
            self.timer = None

    def close(self) -> None:
        self._stop_timer()
        if self.notebook is not None and not self.stays:
            self.notebook.clear()
        if self.length:
            sys.stderr.write(CLEAR if self.on_terminal and not self.stays else "\n")
            sys.stderr.flush()
