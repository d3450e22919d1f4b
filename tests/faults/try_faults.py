"""Do the quick tests find faults (`make faults`)? Each patch of this folder puts one fault into a room of dgraph. For
each, the tests run in a copy of this tree with that fault. The first line of a patch says what goes wrong.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import records

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PATCHES = sorted(HERE.glob("*.patch"))
ENOUGH = 17  # of twenty
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "results")
LIMIT = 900  # seconds of a run of the tests: a fault may keep them waiting
FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("tests", nargs="+", help="files of tests, from the root of the project")
    options.add_argument("--only", action="append", choices=[path.stem for path in PATCHES], help="the fault in a room")
    options.add_argument("--record", help="file to which a line of JSON is added")
    given = options.parse_args()
    patches = [path for path in PATCHES if path.stem in (given.only or path.stem)]
    with tempfile.TemporaryDirectory(prefix="dgraph-faults-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=NOT_COPIED)  # with the kernels beside its files
        environment = _environment(copy)
        begun = time.monotonic()
        if failed := _failures(copy, given.tests, environment):
            sys.exit(f"these fail without any fault: {' '.join(failed)}")
        print(f"without a fault the tests pass, in {time.monotonic() - begun:.0f} s", flush=True)
        found = {patch.stem: _try(patch, copy, given.tests, environment) for patch in patches}
    missed = [room for room, by in found.items() if not by]
    print(f"{len(found) - len(missed)} of {len(found)} faults are found; not: {', '.join(missed) or 'none'}")
    records.add(given.record, {"faults": len(found), "found": len(found) - len(missed), "missed": missed})
    sys.exit(len(missed) > len(PATCHES) - ENOUGH)


def _environment(copy: Path) -> dict[str, str]:
    """The tests import the copy, whose generated kernels are kept apart from the user's."""
    from dgraph.native.machine_code import cache_folder

    kernels = copy.parent / "kernels"
    shutil.copytree(cache_folder(), kernels)
    kernels.chmod(0o700)
    data = os.environ.get("DGRAPH_DATA") or str(ROOT.parent / "shared" / "data")
    return {**os.environ, "PYTHONPATH": str(copy), "DGRAPH_CACHE": str(kernels), "DGRAPH_DATA": data, "CI": "true"}


def _try(patch: Path, copy: Path, tests: list[str], environment: dict[str, str]) -> list[str]:
    """The first tests that fail with this fault."""
    whole = {name: copy.parent / f"whole{place}" for place, name in enumerate(changed_files(patch))}
    for name, kept in whole.items():
        shutil.copy2(copy / name, kept)
    subprocess.run(["git", "apply", patch], cwd=copy, check=True)
    begun = time.monotonic()
    failed = _failures(copy, tests, environment)
    for name, kept in whole.items():  # with their times, by which compiled code is kept
        shutil.copy2(kept, copy / name)
    seconds, says = time.monotonic() - begun, patch.read_text().partition("\n")[0]
    print(f"{patch.stem}: {failed[0] if failed else 'NOT FOUND'} ({seconds:.0f} s)  {says}", flush=True)
    return failed


def changed_files(patch: Path) -> list[str]:
    return re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(), re.MULTILINE)


def _failures(copy: Path, tests: list[str], environment: dict[str, str]) -> list[str]:
    """The tests that fail, up to the first; "no end" if they do not come to an end."""
    side_by_side = ["--numprocesses", str((os.cpu_count() or 1) + 1), "--dist", "worksteal"]
    command = [sys.executable, "-m", "pytest", "--exitfirst", "--timeout", "120", *side_by_side, *tests]
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return ["no end"]
    return FAILURE.findall(done.stdout) or [f"exit status {done.returncode}"] if done.returncode else []


if __name__ == "__main__":
    main()
