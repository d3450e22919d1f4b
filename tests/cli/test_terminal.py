"""Text from data never controls the terminal: not in tables, errors, warnings or progress, nor in a pipe."""

import io
import re
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

import dgraph as dg
from dgraph.cli import say, status_line
from dgraph.errors import ColumnError, FileError, ProgramError
from dgraph.phrases.printable import LONGEST, printable
from dgraph.runs.progress import ProgressLine

CLEARS = "\x1b[2J"  # what clears the screen
TITLE = "\x9d0;title\x9c"  # the same family in one byte (C1)
NASTY = f"a{CLEARS}{TITLE}\x7f\u202eb"
RAW = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def test_control_characters_are_escaped_as_in_python_and_letters_are_kept():
    assert printable(NASTY) == r"a\x1b[2J\u009d0;title\u009c\u007f\u202eb"
    assert printable("zwölf 十二 \N{FAMILY} a b") == "zwölf 十二 \N{FAMILY} a b"
    assert printable("a\nb\tc", keep="\n") == r"a" "\n" r"b\tc"


def test_errors_contain_no_control_characters():
    frame = pd.DataFrame({NASTY: ["x"], "a\nError: forged": ["y"]})
    with pytest.raises(ColumnError) as told:
        dg.Graph.from_edges(frame, source="src")
    assert not RAW.search(str(told.value))
    assert "\n" not in str(FileError("broken", path="a\nError: forged"))
    assert str(ProgramError(f"line 1\nline {CLEARS}")) == "line 1\nline \\x1b[2J"


def test_a_long_error_is_cut():
    told = str(ColumnError("x" * 10**6 + "the remedy"))
    assert len(told) < 1.1 * LONGEST
    assert told.endswith("the remedy")


def test_warnings_contain_no_control_characters(tmp_path):
    path = tmp_path / f"{NASTY}.csv"
    path.write_text("x,y\na,b\n")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        from dgraph.phrases.phrases import warn

        warn(f"{path} is odd")
    assert not RAW.search(str(told[0].message))


@pytest.mark.parametrize(
    "line",
    [
        "run wcc 'ids{}.csv'",
        "run degrees 'ids{}.csv' --source nobody",
        "run bfs 'ids{}.csv' --source-vertex nobody{}",
        "run wcc 'gone{}.csv'",
        "run 'wcc{}' ids.csv",
        "run wcc 'ids{}.csv' '--opt{}'",
        "convert 'ids{}.csv' -o 'edges{}.txt'",
        "convert 'ids{}.csv' -o 'edges{}.nope'",
        "convert 'ids{}.csv' -o edges.npz",
        "estimate pagerank 'gone{}.csv' --debug",
        "validate 'ids{}.csv'",
        "validate 'ids{}.csv' --result 'values{}.csv' --of wcc",
        "explain 'broken{}.py:Program'",
    ],
)
def test_commands_write_no_control_characters_to_a_pipe(run, line):
    name = NASTY.replace("\n", "")
    Path(f"ids{name}.csv").write_text(f'src{CLEARS},dst\n"u{NASTY}\n2",v\nv,w\n')
    Path(f"values{name}.csv").write_text(f"vertex,component\nu{CLEARS},1\n")
    Path(f"broken{name}.py").write_text(f"raise ValueError({CLEARS!r})\n")
    done = run(line.replace("{}", name))
    assert done.output
    assert not RAW.search(done.output)


def test_a_cell_with_line_breaks_is_one_line_of_a_table():
    frame = pd.DataFrame({"vertex": ["a\nb", CLEARS], f"x{CLEARS}": [1, 2]})
    assert say.as_table(frame).splitlines() == [r" vertex  x\x1b[2J", r"   a\nb         1", r"\x1b[2J         2"]


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()


def terminal() -> Terminal:
    return Terminal(io.BytesIO(), encoding="utf-8", newline="")


def test_values_are_escaped_on_a_terminal_and_exact_in_a_pipe(monkeypatch):
    piped = f'"{NASTY}",1\n'.encode()
    for stream, shown in ((terminal(), printable(piped.decode(), "\n")), (None, piped.decode())):
        out = stream or io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
        monkeypatch.setattr(sys, "stdout", out)
        sink = say.standard_output()
        for at in range(len(piped)):  # also in the middle of a letter
            sink.write(piped[at : at + 1])
        sink.flush()
        assert out.buffer.getvalue().decode() == shown


def test_progress_contains_no_control_characters(monkeypatch):
    monkeypatch.setattr(sys, "stderr", seen := terminal())
    monkeypatch.setattr(status_line, "EVERY", 0.01)
    monkeypatch.setattr(ProgressLine, "written", float("-inf"))
    with status_line.show_status(f"reading {NASTY}"):
        while "reading" not in seen.shown():
            pass
    assert "a\\x1b[2J" in seen.shown()
    assert CLEARS not in seen.shown()


def test_only_the_say_module_prints():
    """One place that escapes; click would print anything."""
    folder = Path(say.__file__).parent
    printing = re.compile(r"click\.(echo|secho)|(?<!\w)print\(|traceback\.print|stdout\.(buffer|write)")
    assert [path.name for path in folder.rglob("*.py") if printing.search(path.read_text())] == ["say.py"]
