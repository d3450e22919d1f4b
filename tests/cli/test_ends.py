"""How a command line ends: by which exit code, in one line, and with what left behind."""

import io
import json
import logging
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dgraph.cli.app import main
from dgraph.cli.status_line import show_status
from dgraph.io.formats import FORMATS, counts_from_one
from dgraph.runs.progress import CLEAR


@pytest.mark.parametrize(
    "line",
    [
        "run wcc nope.csv -o calls.csv/x.csv",
        "run wcc nope.csv --report calls.csv/x.csv",
        "convert nope.csv -o calls.csv/x.csv",
        "generate rmat --scale 5 -o calls.csv/x.csv",
        "partition nope.csv -o calls.csv",
        "partition nope.csv -o calls.csv/x",
        "bench quick -o calls.csv/x",
        "graphalytics nope -o calls.csv/x",
    ],
)
def test_an_unwritable_output_is_refused_before_the_work(run, line):
    """By one code, in one line, with the remedy."""
    done = run(line)
    assert (done.exit_code, done.output.count("\n")) == (2, 1), done.output
    assert re.search("; (choose another|give the path of a) folder", done.output), done.output


def test_an_existing_saved_graph_is_refused_as_output_before_the_work(run):
    run("partition calls.csv -o calls.dgraph")
    done = run("partition nope.csv -o calls.dgraph")
    assert (done.exit_code, "or --overwrite" in done.output) == (2, True)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_the_command_with_one_line_and_its_own_exit_code(run, monkeypatch, name, code):
    def stopped(*given, **options):
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(60)

    monkeypatch.setattr("dgraph.ops.wcc.execute", stopped)
    done = run("run wcc calls.csv -o out.csv")
    assert (done.exit_code, done.stderr, Path("out.csv").exists()) == (code, "Stopped.\n", False)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_stop_signal_ends_the_command_at_once():
    """For what the main thread is at, which no signal gets through to: a kernel; here, a shell that signals."""
    shell = "exec >/dev/null 2>&1; for i in $(seq 200); do kill -TERM $PPID; sleep 0.05; done"
    code = (
        "import ctypes; from dgraph.cli.exits import run_and_exit; "
        f"run_and_exit(lambda: ctypes.CDLL(None).system(b'{shell}'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (143, "")


def test_an_incomplete_saved_graph_is_refused(run):
    run("partition calls.csv -o calls.dgraph")
    Path("calls.dgraph/manifest.json").write_text("{")
    for line in ("run wcc calls.dgraph", "validate calls.dgraph", "estimate wcc calls.dgraph"):
        done = run(line)
        assert (done.exit_code, done.output.endswith("save the graph again\n")) == (2, True), done.output


def test_truncated_parquet_is_not_mistaken_for_another_format(run):
    run("generate rmat --scale 5 -o edges.parquet")
    Path("edges.parquet").write_bytes(Path("edges.parquet").read_bytes()[:200])
    assert "it was truncated: download it again" in run("run wcc edges.parquet").output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize("line", ["--help", "run wcc calls.csv -o -"])
def test_a_full_standard_output_is_reported(run, line):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "dgraph", *line.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "cannot write to standard output: No space left" in done.stderr


def test_an_internal_error_is_one_line_too(run, monkeypatch):
    monkeypatch.setattr("dgraph.ops.wcc.execute", lambda graph, *_: graph.nothing)
    done = run("run wcc calls.csv")
    assert (done.exit_code, done.stderr.count("\n"), "--debug shows where" in done.stderr) == (1, 1, True)
    assert "Traceback" in run("run wcc calls.csv --debug").stderr


def test_logs_are_shown_only_with_debug(monkeypatch):
    """Of Dask's, which tell the errors of a cluster beside our line."""
    for given, disabled in ((["dgraph", "info", "--debug"], 0), (["dgraph", "info"], logging.CRITICAL)):
        monkeypatch.setattr("sys.argv", given)
        try:
            with pytest.raises(SystemExit) as end:
                main()
            assert (end.value.code, logging.root.manager.disable) == (0, disabled)
        finally:
            logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "suffix", [name for module in FORMATS.values() if counts_from_one(f"a{(name := module.SUFFIXES[0])}")]
)
def test_formats_with_one_based_ids_shift_or_renumber_vertices(run, suffix):
    """Vertices that count from 0 are written so, any others by --renumber; whole weights stay whole."""
    done = run(f"generate grid --rows 3 --cols 4 -o grid{suffix}")
    assert (done.exit_code, "vertex 0 becomes 1" in done.stderr) == (0, True), done.output
    assert json.loads(run(f"run wcc grid{suffix} --json").output)["vertices"] == 12
    how = "--weight minutes --undirected"
    refused = run(f"convert calls.csv {how} -o calls{suffix}")
    assert (refused.exit_code, "number them with --renumber IDS" in refused.output) == (2, True)
    assert run(f"convert calls.csv {how} -o calls{suffix} --renumber ids.csv").exit_code == 0
    assert Path("ids.csv").read_text().split() == ['"vertex"', '"ann"', '"bob"', '"cat"', '"eve"']
    assert run(f"run wcc calls{suffix} -o -").output.split() == ['"vertex","component"', "1,1", "2,1", "3,1", "4,1"]


def test_estimates_count_the_isolated_vertices_of_a_saved_graph(run):
    run("generate rmat --scale 6 --edge-factor 1 -o edges.parquet")
    run("partition edges.parquet -o edges.dgraph")
    told = [json.loads(run(f"estimate wcc {edges} --json").output) for edges in ("edges.parquet", "edges.dgraph")]
    assert told[0] == told[1] and told[0]["vertices"] == 64


def test_a_terminal_shows_a_status_line_until_a_run_reports_progress(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("dgraph.cli.status_line.EVERY", 0.001)
    with show_status("running wcc"):
        deadline = time.monotonic() + 60
        while "running wcc: 0 s" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.001)
    assert "running wcc: 0 s" in terminal.getvalue() and terminal.getvalue().endswith(CLEAR)
    told = len(terminal.getvalue())
    monkeypatch.setattr("dgraph.cli.status_line.ProgressLine.written", math.inf)
    with show_status("running wcc"):
        time.sleep(0.01)
    assert terminal.getvalue()[told:] == CLEAR
