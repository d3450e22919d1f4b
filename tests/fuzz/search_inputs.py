"""The long search (`make fuzz`): every target in a process of its own, with limits on time and memory; an input that
crashes, hangs or blows up is kept, to become a test."""

import argparse
import faulthandler
import hashlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HANG, BUSY = 30, 10  # seconds that an input may take, and seconds of one processor
MEMORY = 2 << 30  # bytes, beside what the process has before the first input
HERE = Path(__file__).parent
# Numba compiles no function that atheris has changed.
KERNELS = [
    "dgraph.partition.build_kernels",
    "dgraph.partition.ids.id_kernels",
    "dgraph.native",
    "dgraph.tables",
    "dgraph.pipeline",
    "dgraph.solvers",
    "dgraph.agents",
    "dgraph.codegen",
    "dgraph.engines.local_methods",
    "dgraph.io.generate",
]
KERNELS += ["dgraph.runs.resumption", "dgraph.programs.random_draws"]
FOUND = Path(tempfile.gettempdir()) / "dgraph-fuzz"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("targets", nargs="*", help="by default all")
    options.add_argument("--inputs", type=int, default=100_000, help="of each target")
    options.add_argument(
        "--seconds", type=int, default=0, help="at most so long for each target; 0: as long as it takes"
    )
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--plain", action="store_true", help="without atheris")
    options.add_argument("--record", help="file to which a line of JSON is added for each target")
    options.add_argument("--rest", action="store_true", help="only as many as the record lacks")
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "big") >> 1
    if given.child:
        search(given.targets[0], given.inputs, given.seconds, seed, given.plain)
        return
    import records
    from targets import TARGETS

    failed = []
    for name in given.targets or TARGETS:
        known = records.rows(given.record) if given.rest else []
        inputs = given.inputs - sum(row["inputs"] for row in known if row["target"] == name and not row["failed"])
        if inputs <= 0:
            continue
        print(f"{name}: {inputs:,} inputs, seed {seed}", flush=True)
        begun, command = time.perf_counter(), [sys.executable, __file__, name, "--child", "--inputs", str(inputs)]
        command += ["--seconds", str(given.seconds), "--seed", str(seed), *(["--plain"] if given.plain else [])]
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
        counts = re.findall(r"number_of_executed_units: (\d+)", done.stderr)
        if done.returncode or not counts:
            print(done.stderr, file=sys.stderr, flush=True)
        took, count = time.perf_counter() - begun, int(counts[-1]) if counts else 0
        row = {"target": name, "inputs": count, "failed": bool(done.returncode), "seed": seed, "seconds": round(took)}
        print(f"  {records.add(given.record, row)}", flush=True)
        failed += [name] if done.returncode else []
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; inputs are in {FOUND}")


def search(name: str, count: int, seconds: int, seed: int, plain: bool) -> None:
    """In a child: inputs until one fails."""
    FOUND.mkdir(exist_ok=True)
    atheris = None if plain else coverage_guided()
    import mutation
    import targets

    known = targets.TARGETS[name][1]()
    for one in known:
        targets.try_one(name, one)
    size = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    def run(data: bytes) -> None:
        try:
            targets.try_one(name, data)
        except BaseException:
            keep(name, data)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    if atheris is None:
        room = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        faulthandler.register(signal.SIGXCPU, chain=True)
        begun, done = time.monotonic(), 0
        for data in mutation.inputs(known, count, seed):
            (FOUND / f"{name}.last").write_bytes(data)
            faulthandler.dump_traceback_later(HANG, exit=True)
            used = resource.getrusage(resource.RUSAGE_SELF)
            resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + BUSY + 1, -1))
            run(data)
            done += 1
            if seconds and time.monotonic() - begun > seconds:
                break
        print(f"number_of_executed_units: {done}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as corpus:
        for number, one in enumerate(known):
            (Path(corpus) / str(number)).write_bytes(one)
        limits = [
            f"-runs={count}",
            f"-max_total_time={seconds}",
            f"-seed={seed}",
            f"-timeout={HANG}",
            f"-rss_limit_mb={(size + MEMORY) >> 20}",
        ]
        limits += ["-max_len=4096", "-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={FOUND}/{name}-"]
        atheris.Setup([sys.argv[0], *limits, corpus], run)
        atheris.Fuzz()


def coverage_guided():
    """Atheris with our modules instrumented, or None where it cannot be had."""
    try:
        import atheris
    except ImportError:
        return None
    with atheris.instrument_imports(include=["dgraph"], exclude=KERNELS):
        import targets  # noqa: F401
    return atheris


def keep(name: str, data: bytes) -> None:
    (FOUND / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)


if __name__ == "__main__":
    main()
