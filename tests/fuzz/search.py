"""The long search (`make fuzz`): every target in a process of its own, with limits on time and memory; an input that
crashes, hangs or blows up is kept, to become a test."""

import argparse
import faulthandler
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HANG = 5  # seconds
MEMORY = 1 << 30  # bytes, beside what the process has before the first input
HERE = Path(__file__).parent
FOUND = Path(tempfile.gettempdir()) / "dgraph-fuzz"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("targets", nargs="*", help="by default all")
    options.add_argument("--inputs", type=int, default=100_000, help="of each target")
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--plain", action="store_true", help="without atheris")
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "big") >> 1
    if given.child:
        search(given.targets[0], given.inputs, seed, given.plain)
        return
    sys.path.insert(0, str(HERE))
    from targets import TARGETS

    failed = []
    for name in given.targets or TARGETS:
        print(f"{name}: {given.inputs:,} inputs, seed {seed}", flush=True)
        begun, command = time.perf_counter(), [sys.executable, __file__, name, "--child", "--inputs", str(given.inputs)]
        done = subprocess.run([*command, "--seed", str(seed), *(["--plain"] if given.plain else [])], check=False)
        print(f"  {'sound' if not done.returncode else 'FAILED'}, {time.perf_counter() - begun:.0f} s", flush=True)
        failed += [name] if done.returncode else []
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; inputs are in {FOUND}")


def search(name: str, count: int, seed: int, plain: bool) -> None:
    """In a child: inputs until one fails."""
    sys.path.insert(0, str(HERE))
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
        for data in mutation.inputs(known, count, seed):
            (FOUND / f"{name}.last").write_bytes(data)
            faulthandler.dump_traceback_later(HANG, exit=True)
            run(data)
        return
    with tempfile.TemporaryDirectory() as corpus:
        for number, one in enumerate(known):
            (Path(corpus) / str(number)).write_bytes(one)
        limits = [f"-runs={count}", f"-seed={seed}", f"-timeout={HANG}", f"-rss_limit_mb={(size + MEMORY) >> 20}"]
        limits += ["-max_len=4096", "-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={FOUND}/{name}-"]
        atheris.Setup([sys.argv[0], *limits, corpus], run)
        atheris.Fuzz()


def coverage_guided():
    """Atheris with our modules instrumented, or None where it cannot be had."""
    try:
        import atheris
    except ImportError:
        return None
    with atheris.instrument_imports(include=["dgraph"]):
        import targets  # noqa: F401
    return atheris


def keep(name: str, data: bytes) -> None:
    (FOUND / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)


if __name__ == "__main__":
    main()
