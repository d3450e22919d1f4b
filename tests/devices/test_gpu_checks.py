"""What is checked on a GPU goes on whatever happens to a part: it fails, its process dies, or it hangs."""

import sys
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
    monkeypatch.setattr(findings, "PATIENCE", 4.0)
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
        (
            "time.sleep(60)",
            60,
            [("part", "FAILED", "its process took more than 4 s, during: this"), ("the next", "ok", "done")],
        ),
    ],
)
def test_a_part_fails_dies_or_hangs(how, seconds, rows, findings):
    findings.run("part", [sys.executable, "-c", PART.replace("HOW", how)], seconds)
    found = [(one.what, one.how, one.said) for one in findings.rows]
    assert found == [("a rate", "missed", "3 of 4"), *rows]
    assert findings.failed == sum(how == "FAILED" for _, how, _ in rows)
    assert ("raise ValueError" in how) == ("in ends" in findings.markdown)


def test_a_part_that_cannot_even_begin_is_tried_once(findings):
    findings.run("part", [sys.executable, "-c", "raise SystemExit(7)"], 60)
    assert [one.said for one in findings.rows] == ["its process ended with 7, between two checks"]


def test_without_time_a_part_is_not_run(findings):
    findings.run("speed", ["nobody"], -1)
    assert findings.rows[0].how == "not run" and "check.py speed" in findings.rows[0].said
