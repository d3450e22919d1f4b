"""The faults that `make faults` puts in are twenty, one in each of twenty rooms, and still fit the code."""

import subprocess

import pytest
from try_faults import PATCHES, ROOT, changed_files


def test_twenty_faults_are_in_different_subpackages():
    rooms = [name.split("/")[1] for path in PATCHES for name in changed_files(path)]
    assert rooms == [path.stem for path in PATCHES]
    assert len(set(rooms)) == 20


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_a_fault_fits_the_code(patch):
    check = subprocess.run(["git", "apply", "--check", patch], cwd=ROOT, capture_output=True, text=True)
    assert not check.returncode, f"{check.stderr}\nmake the fault anew, where the code is now"


def test_the_quick_tests_are_there():
    """`make quick` names files and functions, which may have been renamed."""
    for line in (ROOT / "tests" / "quick.txt").read_text().splitlines():
        path, _, name = line.partition("::")
        assert (ROOT / path).exists(), line
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / path).read_text(), line
