"""What is checked on a GPU goes on whatever happens to a part: it fails, its process dies, or it hangs."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "gpu"

PART = f"""
import os, signal, sys, time
sys.path.append({str(FOLDER)!r})
from pathlib import Path
from findings import Findings, goal

def ends():
    HOW

findings = Findings(Path(sys.argv[1]))
findings.check("a rate", lambda: [goal("a rate", False, "3 of 4")])
findings.check("this", ends)
findings.check("the next", lambda: "done")
"""


@pytest.fixture
def findings(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import findings

    monkeypatch.setattr(findings, "LEAST", 0.0)
    monkeypatch.setattr(findings, "LONGEST", 0.0)
    monkeypatch.setattr(findings, "KEEP", 0.2)
    return findings.Findings()


@pytest.mark.parametrize(
    ("how", "seconds", "rows"),
    [
        ("return 'found'", 60, [("this", "ok", "found"), ("the next", "ok", "done")]),
        ("raise ValueError(3)", 60, [("this", "FAILED", "ValueError: 3"), ("the next", "ok", "done")]),
        (
            "os.kill(os.getpid(), signal.SIGSEGV)",
            60,
            [("part", "FAILED", "its process ended with -11, during: this"), ("the next", "ok", "done")],
        ),
        (
            "raise ValueError('it cannot use it any more')",
            60,
            [("this", "FAILED", "ValueError: it cannot use it any more"), ("the next", "ok", "done")],
        ),
        (  # and whoever tells of it did not end its line
            "print(end='{', file=open(sys.argv[1], 'a')); os.kill(os.getpid(), signal.SIGKILL)",
            60,
            [("part", "FAILED", "its process ended with -9, during: this"), ("the next", "ok", "done")],
        ),
        (
            "time.sleep(600)",
            60,
            [("part", "FAILED", "its process took more than 12 s, during: this"), ("the next", "ok", "done")],
        ),
    ],
)
def test_checks_continue_after_a_part_fails_dies_or_hangs(how, seconds, rows, findings, monkeypatch):
    if "sleep" in how:
        monkeypatch.setattr("findings.PATIENCE", 12.0)  # also for a slow machine to start a process
    findings.run("part", [sys.executable, "-c", PART.replace("HOW", how)], seconds)
    found = [(one.what, one.how, one.said) for one in findings.rows]
    assert found == [("a rate", "missed", "3 of 4"), *rows]
    assert findings.failed == sum(how == "FAILED" for _, how, _ in rows)
    assert ("raise ValueError" in how) == ("in ends" in findings.markdown)


STARTS = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, file=open(OUT, "w"), flush=True)
HOW
"""


def gone(pid):
    """Or waiting for somebody to ask how it ended."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_no_process_is_left_of_a_part_that_dies(findings, tmp_path):
    out = tmp_path / "pid"
    script = STARTS.replace("OUT", repr(str(out))).replace("HOW", "sys.exit(7)")
    findings.run("part", [sys.executable, "-c", script], 60)
    waits_until(lambda: gone(int(out.read_text())))


def test_no_process_is_left_of_a_part_whose_parent_is_killed(tmp_path):
    """As a command is that takes too long: by no signal that it could see to."""
    out, inner, outer = (tmp_path / name for name in ("pid", "inner.py", "outer.py"))
    inner.write_text(
        f"import sys, time; sys.path.append({str(FOLDER)!r}); from findings import end_with; end_with(int(sys.argv[1]))"
        + STARTS.replace("OUT", repr(str(out))).replace("HOW", "time.sleep(600)")
    )
    outer.write_text(
        "import os, subprocess, sys\n"
        f"subprocess.run([sys.executable, {str(inner)!r}, str(os.getpid())], start_new_session=True)"
    )
    with subprocess.Popen([sys.executable, outer]) as process:
        waits_until(lambda: out.exists() and out.read_text().endswith("\n"))
        process.kill()
    waits_until(lambda: gone(int(out.read_text())))


def waits_until(known):
    over = time.monotonic() + 60
    while not known():
        assert time.monotonic() < over
        time.sleep(0.05)


def test_an_interrupted_write_keeps_the_old_results(findings, monkeypatch, tmp_path):
    from findings import keep

    file = tmp_path / "RESULTS.md"
    keep(file, "all")
    assert file.read_text() == "all"
    monkeypatch.setattr(Path, "replace", lambda *_: 1 / 0)  # it ends there
    with pytest.raises(ZeroDivisionError):
        keep(file, "some")
    assert file.read_text() == "all"


def test_a_part_that_cannot_even_begin_is_tried_once(findings):
    findings.run("part", [sys.executable, "-c", "raise SystemExit(7)"], 60)
    assert [one.said for one in findings.rows] == ["its process ended with 7, between two checks"]


def test_a_part_is_skipped_if_no_time_is_left(findings):
    findings.run("speed", ["nobody"], -1)
    assert findings.rows[0].how == "not run" and "check.py speed" in findings.rows[0].said
