"""Billions of edges from a folder of Parquet, on one machine: time and memory of whole processes, under a limit.

    .venv/bin/python benchmarks/billions.py [--scale 26] [--rows pagerank wcc] [--limit "2 GiB"] [--folder /data]

Each row is one command in a memory control group of its own below the machine's memory, so that the kernel ends that
command and nothing else. Its answer is verified in another process. A row ends after half an hour; what happened is
recorded in any case. With --tenths, each row runs at every tenth of the memory that it takes; use a smaller scale for
that. Scale 26 (1.07 billion edges) asks for 60 GB of disk, most of it for what a run may write to its scratch folder.
Linux only, as root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import Claim, control_group, parser_of
from large_answers import WEIGHTS, LargeGraph

from dgraph.arguments import check_bytes
from dgraph.bench.resources import resident
from dgraph.io.generate import Rmat

FILES = 64
BLOCK = 1 << 21  # edges drawn at once
GIB, GB = 1 << 30, 10**9
LEFT = 2 * GIB  # for everything besides the command
LEAST = 300 << 20  # bytes that Python, NumPy, Arrow, Dask and Numba take, and little besides
MOST_SECONDS = 30 * 60
PLACES = 8  # of a file, where it is looked at
MOMENT = 0.1  # seconds between two looks at memory and disk
ANSWER, GENERATED = "answer.parquet", "generated"  # what a command writes into the folder
DGRAPH = str(Path(sys.executable).with_name("dgraph"))


@dataclass(frozen=True)
class Row:
    """A command, and what it must reach at scale 26."""

    title: str
    operation: str
    seconds: float
    memory: float  # bytes at the peak, of all processes together
    options: tuple[str, ...] = ()
    limit: int | None = None  # bytes of the control group and --memory; by default what the machine has, but a little
    disk: float | None = None  # bytes of scratch per edge
    saved: bool = False  # whether it starts from the saved graph
    files: int = FILES  # how many of the files it reads
    text: bool = False  # whether ids are strings, of LETTERS characters

    def edges(self, scale: int) -> int:
        return min(16 << scale, self.files * -(-(16 << scale) // FILES))

    def command(self, scale: int, folder: Path, source: int | None) -> list[str]:
        """The command, which reads and writes in a folder."""
        if self.operation == "generate":
            return [DGRAPH, "generate", "rmat", "--scale", str(scale), "-o", f"{folder / GENERATED}/", *self._memory]
        edges = folder / ("graph" if self.saved else "text" if self.text else "edges")
        if self.files < FILES and not self.text:
            edges = folder / "some"
        options = [*self.options, *([str(source)] if "--source-vertex" in self.options else [])]
        return [DGRAPH, "run", self.operation, str(edges), *options, "-o", str(folder / ANSWER), *self._memory]

    @property
    def _memory(self) -> list[str]:
        return [] if self.limit is None else ["--memory", str(self.limit)]


ROUNDS = ("--max-iter", "10", "--tol", "0")
ROWS = {
    "pagerank": Row("PageRank, 10 rounds", "pagerank", 200, 12 * GB, ROUNDS),
    "wcc": Row("WCC", "wcc", 200, 12 * GB),
    "bfs": Row("BFS", "bfs", 220, 14 * GB, ("--source-vertex",)),
    "sssp": Row("SSSP, weights 1 to 255", "sssp", 220, 14 * GB, ("--source-vertex",)),
    "cdlp": Row("CDLP, 10 rounds", "cdlp", 350, 14 * GB),
    "core_number": Row("core numbers", "core_number", 500, 20 * GB),
    "core_number_14": Row("core numbers in 14 GiB", "core_number", 900, 14 * GIB, limit=14 * GIB),
    "pagerank_6": Row("PageRank, 10 rounds, in 6 GiB", "pagerank", 450, 6 * GIB, ROUNDS, limit=6 * GIB),
    "pagerank_workers": Row(
        "PageRank, 10 rounds, on two workers of 6 GiB each",
        "pagerank",
        400,
        12 * GIB,
        (*ROUNDS, "--workers", "2"),
        limit=14 * GIB,  # of the command that waits for them, too
        disk=12,
    ),
    "pagerank_saved": Row("PageRank, 10 rounds, from the saved graph", "pagerank", 60, 8 * GB, ROUNDS, saved=True),
    "pagerank_12": Row("PageRank, 10 rounds, in 12 GiB", "pagerank", MOST_SECONDS, 12 * GIB, ROUNDS, limit=12 * GIB),
    "pagerank_168": Row("PageRank, 10 rounds, of 168 million edges", "pagerank", 30, 3.1 * GB, ROUNDS, files=10),
    "pagerank_text": Row(
        "PageRank, 10 rounds, of 101 million edges with string ids", "pagerank", 0, 40, ROUNDS, files=6, text=True
    ),  # with a target for the bytes of each edge, beside the strings
    "leiden_12": Row(
        "communities (Leiden) in 12 GB", "leiden", MOST_SECONDS, 12 * GB, ("--undirected",), limit=12 * GB
    ),
    "generate_1": Row("generating edges, in 1 GiB", "generate", MOST_SECONDS, GIB, limit=GIB),
}
LETTERS = 12  # of an id that is a string, such as v00000012345
AIMS = {"pagerank_12": 27, "leiden_12": 24, "generate_1": None}  # scales of targets, if not 26; None: they hold at any
USUAL = [name for name in ROWS if AIMS.get(name) in (None, 26)]
PUBLISHED = {  # seconds of graphframes-rs on graph500-26, with 4 cores and 24 GB for its query engine
    "pagerank": 449,
    "wcc": 760,
    "cdlp": 3555,
    "bfs": 634,
}


@dataclass
class Outcome:
    """What came of a command."""

    end: str = "finished"  # or "killed", "refused", "failed", "stopped"
    text: str = ""
    seconds: float = 0.0
    memory: int = 0  # the sum of the peaks of all processes, or the peak of their group if that is less
    disk: int = 0  # bytes of the scratch folder at the peak
    warm: bool = False  # whether the files were in the system's cache
    peaks: dict[int, int] = field(default_factory=dict)
    rows: int = 0  # of the answer
    left: list[str] = field(default_factory=list)  # files that it should not have left behind


def main() -> None:
    options = parser_of(__doc__, scale=26)
    options.add_argument("--rows", nargs="+", choices=ROWS, default=USUAL)
    options.add_argument("--tenths", action="store_true", help="each row at every tenth of the memory that it takes")
    options.add_argument("--limit", help="memory of each row, such as '2 GiB', instead of its own limit")
    options.add_argument("--folder", help="where the edges are written; by default the system's temporary folder")
    options.add_argument("--keep", action="store_true", help="keep the edges, and use those that an earlier run kept")
    given = options.parse_args()
    rows = {name: ROWS[name] for name in given.rows}
    if given.limit:
        limit = check_bytes("--limit", given.limit, 1)
        rows = {name: replace(row, title=f"{row.title}, in {given.limit}", limit=limit) for name, row in rows.items()}
    with edges_of(given) as folder:
        source = LargeGraph(given.scale).source if {"bfs", "sssp"} & set(rows) else None
        take = record_tenths if given.tenths else record
        failed = [name for name, row in rows.items() if not take(name, row, given.scale, folder, source)]
    if failed:
        sys.exit(f"not met: {', '.join(failed)}")


# -- edges -------------------------------------------------------------------------------------------------------------


@contextmanager
def edges_of(given: Any) -> Iterator[Path]:
    """The folder of edges, which are written unless an earlier run has kept them."""
    root = Path(given.folder or tempfile.gettempdir()) / f"dgraph-billions-{given.scale}"
    try:
        if not (root / "complete").exists():
            shutil.rmtree(root, ignore_errors=True)
            (root / "edges").mkdir(parents=True)
            seconds = write(root / "edges", given.scale)
            (root / "complete").touch()
            print(f"wrote {16 << given.scale:,} edges in {seconds:.0f} s", flush=True)
        yield root
    finally:
        if not given.keep:
            shutil.rmtree(root, ignore_errors=True)


def write(folder: Path, scale: int, files: int = FILES, *, as_text: bool = False) -> float:
    """Write the first files of R-MAT edges with weights to a folder, in blocks."""
    begun, drawn = time.perf_counter(), Rmat(scale, seed=1, weights=WEIGHTS)
    each = -(-drawn.num_indices // FILES)
    for number in range(files):
        first, last = (min(one * each, drawn.num_indices) for one in (number, number + 1))
        writer = None
        for start in range(first, last, BLOCK):
            block = drawn.block(start, min(start + BLOCK, last))
            ends = [as_strings(block[end]) if as_text else block[end] for end in ("source", "destination")]
            table = pa.table([*ends, block["weight"]], names=["src", "dst", "weight"])
            writer = writer or pq.ParquetWriter(folder / f"part-{number:03}.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return time.perf_counter() - begun


def as_strings(ids: np.ndarray) -> pa.Array:
    """Numbers as strings of one length: v00000012345."""
    letters = np.full((len(ids), LETTERS), ord("v"), np.uint8)
    for place in range(LETTERS - 1, 0, -1):
        ids, digit = np.divmod(ids, 10)
        letters[:, place] = digit + ord("0")
    offsets = np.arange(0, LETTERS * len(ids) + 1, LETTERS, dtype=np.int32)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(letters))


# -- one row -----------------------------------------------------------------------------------------------------------


def record(name: str, row: Row, scale: int, folder: Path, source: int | None) -> bool:
    """Run a row, verify its answer and record what happened. Returns whether it reached what it must."""
    return told(name, row, scale, answered(row, scale, folder, source))


def answered(row: Row, scale: int, folder: Path, source: int | None) -> Outcome:
    """What came of a row, whose answer is right if there is one. A command that did not finish must leave none."""
    _prepare(row, scale, folder)
    outcome = run(row.command(scale, folder, source), folder, row.limit)
    answer = folder / (GENERATED if row.operation == "generate" else ANSWER)
    if outcome.end == "finished":
        outcome.rows = 0 if answer.is_dir() else pq.read_metadata(answer).num_rows
        verify(row, scale, answer)
    elif answer.exists():
        outcome.left.append(answer.name)
    (folder / ANSWER).unlink(missing_ok=True)
    shutil.rmtree(folder / GENERATED, ignore_errors=True)
    return outcome


def record_tenths(name: str, row: Row, scale: int, folder: Path, source: int | None) -> bool:
    """Run a row without a limit, and then with every tenth of the memory that it took, down to what Python takes: each
    must end with the right answer or with a refusal, and leave no file. Returns whether all did."""
    whole, ends, fine = answered(replace(row, limit=None), scale, folder, source), {}, 0
    if whole.end != "finished":
        return told(name, row, scale, whole)
    limits = [whole.memory * tenth // 10 for tenth in range(9, 0, -1)]
    limits = [limit for limit in limits if limit >= LEAST] or [LEAST]
    for limit in limits:
        outcome = answered(replace(row, limit=limit), scale, folder, source)
        ends[f"{limit / GB:.2f} GB"] = f"{outcome.end} after {outcome.seconds:.0f} s"
        fine += outcome.end in ("finished", "refused") and not outcome.left
        print(f"  {limit / GB:.2f} GB: {outcome.end} after {outcome.seconds:.1f} s {outcome.left} {outcome.text}")
    what = f"{row.title.partition(', in ')[0]}, scale {scale}: limits of memory with an answer or a refusal"
    facts = {"without a limit": f"{whole.memory / GB:.2f} GB, {whole.seconds:.0f} s", "ends": ends}
    claim = Claim("billions", what, "every tenth of what it takes without a limit", None, "", 1, facts=facts)
    return bool(claim.record([fine], [len(limits)])["met"])


def told(name: str, row: Row, scale: int, outcome: Outcome) -> bool:
    """Record seconds, memory and disk. Most targets hold only for the usual limit of a row, at scale 26."""
    size = f"{row.title}, scale {scale} ({row.edges(scale) / 1e9:.2f} billion edges)"
    facts = {"end": outcome.end, "text": outcome.text, "warm cache": outcome.warm}
    aims = row == ROWS[name] and AIMS.get(name, 26) in (scale, None)
    found = [
        ("seconds", "s", outcome.seconds, row.seconds),
        ("peak memory", "GB", outcome.memory / GB, row.memory / GB),
    ]
    if row.text:
        strings = outcome.rows * (LETTERS + 4)  # with the place of each
        found = [("peak memory beside the strings", "bytes an edge", (outcome.memory - strings) / row.edges(scale), 40)]
    if row.disk is not None:
        found.append(("scratch", "bytes an edge", outcome.disk / (16 << scale), row.disk))
    met = []
    for what, unit, ours, most in found:
        claim = Claim("billions", f"{size}: {what}", "what it must reach", 1 if aims else None, unit=unit, facts=facts)
        done = claim.record([ours], [most]) if outcome.end == "finished" else claim.failed(outcome.end, most)
        met.append(done["met"] is not False)
    if aims and name in PUBLISHED and outcome.end == "finished":
        peer = f"graphframes-rs, published{' (its shortest paths)' * (name == 'bfs')}, twice the cores"
        Claim("billions", f"{size}: seconds", peer, 1, facts=facts).record([outcome.seconds], [PUBLISHED[name]])
    print(f"  {outcome.end} after {outcome.seconds:.0f} s: {outcome.text}", flush=True)
    return all(met)


def _prepare(row: Row, scale: int, folder: Path) -> None:
    """Make what a row reads, if it is not the folder of all edges."""
    if row.saved and not (folder / "graph").exists():
        run([DGRAPH, "partition", str(folder / "edges"), "-o", str(folder / "graph")], folder, None)
    if row.text and not (folder / "text").exists():
        (folder / "text").mkdir()
        write(folder / "text", scale, row.files, as_text=True)
    elif row.files < FILES and not row.text:
        shutil.rmtree(folder / "some", ignore_errors=True)
        (folder / "some").mkdir()
        for path in sorted((folder / "edges").iterdir())[: row.files]:
            (folder / "some" / path.name).hardlink_to(path)


def verify(row: Row, scale: int, answer: Path) -> None:
    script = Path(__file__).with_name("large_answers.py")
    what = ["--operation", row.operation, "--scale", str(scale), "--answer", str(answer)]
    what += ["--edges", str(row.edges(scale))]
    subprocess.run([sys.executable, str(script), *what], check=True)


def run(command: list[str], folder: Path, limit: int | None) -> Outcome:
    """Run a command in a control group, and watch its memory and disk until it ends."""
    limit = limit or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") - LEFT
    outcome, scratch = Outcome(warm=_is_cached(folder / "edges")), folder / "scratch"
    scratch.mkdir()
    places = {"TMPDIR": str(scratch), "DASK_TEMPORARY_DIRECTORY": str(scratch)}
    try:
        with control_group(limit) as enter, tempfile.TemporaryFile("w+") as errors:
            begun = time.perf_counter()
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=os.environ | places,
                preexec_fn=enter,
                start_new_session=True,
            )
            done = threading.Event()
            watching = threading.Thread(target=_watch, args=(process.pid, scratch, outcome, done))
            watching.start()
            try:
                process.wait(MOST_SECONDS)
            except subprocess.TimeoutExpired:
                outcome.end = "stopped"
            finally:
                outcome.seconds = time.perf_counter() - begun
                done.set()
                watching.join()
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                process.wait()
            if enter is not None:  # the peaks of processes include files that others have read
                outcome.memory = min(outcome.memory, enter.peak)
            errors.seek(0)
            outcome.text = _last_line(errors.read())
    finally:
        outcome.left += [path.name for path in scratch.rglob("*") if path.is_file()]
        shutil.rmtree(scratch, ignore_errors=True)
    if outcome.end == "finished" and process.returncode:
        killed = process.returncode < 0
        outcome.end = "killed" if killed else "refused" if "memory" in outcome.text else "failed"
    return outcome


def _watch(group: int, scratch: Path, outcome: Outcome, done: threading.Event) -> None:
    """Note the peaks of all processes of a group, and of the scratch folder."""
    while not done.wait(MOMENT):
        for entry in os.scandir("/proc"):
            with suppress(OSError, StopIteration, ValueError):
                if entry.name.isdigit() and os.getpgid(int(entry.name)) == group:
                    outcome.peaks[int(entry.name)] = resident("VmHWM", entry.name)
        outcome.memory = sum(outcome.peaks.values())
        outcome.disk = max(outcome.disk, _size_of(scratch))


def _size_of(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += Path(parent, name).stat().st_blocks * 512
    return total


def _is_cached(folder: Path) -> bool:
    """Whether most of these files are in the system's cache, by places in each of them."""
    found = []
    for path in folder.iterdir():
        with path.open("rb") as file:
            size = path.stat().st_size
            for place in range(0, size, max(1, size // PLACES)):
                with suppress(BlockingIOError):  # it would have to be read
                    found.append(os.preadv(file.fileno(), [bytearray(1)], place, os.RWF_NOWAIT))
                    continue
                found.append(0)
    return 2 * sum(found) > len(found)


def _last_line(text: str) -> str:
    lines = [line for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return next((line for line in reversed(lines) if line.startswith("Error")), lines[-1] if lines else "")[:500]


if __name__ == "__main__":
    main()
