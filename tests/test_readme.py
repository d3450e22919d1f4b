"""What README.md says is true: its code gives what it says, its tables are complete, its links lead somewhere."""

import ast
import importlib.util
import linecache
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from dgraph.io.formats import FORMATS
from dgraph.partition.policies import NAMES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text()
GRAPHS = (ROOT / "docs" / "graphs.md").read_text()


def code_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def run(block: str, names: dict[str, object]) -> int:
    """Run a block; a line `value  # -> text` must print as that text. How many such lines there were."""
    told, lines, file = 0, block.splitlines(keepends=True), f"<code {hash(block)}>"
    linecache.cache[file] = len(block), None, lines, file  # so that functions in the block have a source
    for statement in ast.parse(block).body:
        said = re.search(r"# -> (.*)$", lines[(statement.end_lineno or 0) - 1])
        if said:
            assert isinstance(statement, ast.Expr), f"{said[0]}: stands behind a statement, which has no value"
            value = eval(compile(ast.Expression(statement.value), file, "eval"), names)
            assert repr(value) == said[1].strip()
            told += 1
        else:
            exec(compile(ast.Module([statement], []), file, "exec"), names)
    return told


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs_and_gives_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # and again, over the files that are there by then
        names: dict[str, object] = {}
        for block in code_blocks(page):
            run(block, names)


def test_a_wrong_answer_in_the_code_is_found():
    assert run("x = 2\nx + 1  # -> 3", {}) == 1
    with pytest.raises(AssertionError):
        run("1 + 1  # -> 3", {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = [link for link in re.findall(r"\]\(([^)#]+)", page.read_text()) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.tiny
def test_every_format_and_policy_is_listed():
    listed = set(re.findall(r"`(\.\w+)`", GRAPHS.split("## Formats")[1].split("## Policies")[0]))
    assert {suffix for module in FORMATS.values() for suffix in module.SUFFIXES} <= listed
    policies = GRAPHS.split("## Policies")[1]
    assert [name for name in (*NAMES, "auto") if f"| `{name}` |" not in policies] == []


@pytest.mark.tiny
def test_make_help_lists_what_the_readme_calls():
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert set(re.findall(r"make (\w+)", README)) <= listed
    assert {"install", "demo", "test", "tiny", "lint", "types", "bench", "help"} <= listed


def test_the_demo_runs_small():
    command = [sys.executable, "-W", "error", "examples/demo.py", "--scale", "8", "--parts", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "256 vertices, 4,096 edges, 3 partitions" in done.stdout
    assert "replication" in done.stdout


def test_the_example_for_gpus_runs_without_one():
    command = [sys.executable, "-W", "error", "examples/gpu.py", "--scale", "8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"The largest difference from the CPU's answer: \d\.\de[-+]\d\d\n", done.stdout), done.stdout


# -- the measured table ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def readme():
    spec = importlib.util.spec_from_file_location("benchmarks_readme", ROOT / "benchmarks" / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROW = {
    "name": "build", "what": "16 M edges", "peer": "a|b", "ours": 0.25, "theirs": 1.5, "ratio": 1 / 6, "target": 0.5,
    "met": True, "unit": "s", "machine": "two cores", "versions": {"dgraph": "1"}, "date": "2020-02-02",
}  # fmt: skip


@pytest.mark.tiny
def test_a_measurement_becomes_a_row(readme):
    slow = ROW | {"what": "more", "ratio": 2.0, "met": False}
    plain = ROW | {"what": "for information", "target": None, "met": None}
    lines = readme.table([ROW, slow, plain]).splitlines()
    assert lines[2] == r"| 16 M edges | a\|b | 250 ms | 1.5 s | 0.17 | ≤ 0.5, met |"
    assert lines[3].endswith("| 2.00 | ≤ 0.5, **not met** |")
    assert lines[4].endswith("| 0.17 |  |")
    assert lines[5:] == ["", "Measured 2020-02-02 on two cores; dgraph 1."]
    later = [
        ROW | {"date": f"2020-02-{day:02}", "versions": {"dgraph": f"1.{day}", "numpy": "2"}} for day in (11, 3, 9)
    ]
    assert (
        readme.table(later).splitlines()[-1]
        == "Measured 2020-02-03 to 2020-02-11 on two cores; dgraph 1.3 to 1.11, numpy 2."
    )


@pytest.mark.tiny
def test_operations_and_peers_without_a_number_have_no_place(readme):
    def row(title, peer, column):
        seconds = {"title": title, "peer": peer, "column": column}
        return ROW | seconds | {"detail": True, "graph": "a graph", "notes": ["", ""]}

    found = [row("BFS", "one", "alone"), row("cores", "dgraph", "with a frame"), row("BFS", "another", "memory")]
    lines = readme.table(found).splitlines()
    assert "| a graph | BFS |" in lines and "| one | 1.5 |" in lines
    assert not [line for line in lines if line.startswith("|") and ("cores" in line or "another" in line)]
    found.append(row("cores", "dgraph", "with a frame") | {"graph": "an empty graph"})
    assert "an empty graph" not in readme.table(found)


@pytest.mark.tiny
def test_only_the_table_is_rewritten(readme):
    once = readme.replaced(README, readme.table([ROW]))
    assert readme.replaced(once, "new") == readme.replaced(README, "new")
    assert once.startswith(README.split(readme.START)[0])
    assert once.endswith(README.split(readme.END)[1])
    with pytest.raises(SystemExit, match="lacks the marks"):
        readme.replaced("no marks", "new")


def test_results_are_kept_in_the_form_that_the_table_reads(readme):
    for row in readme.read(ROOT / "benchmarks" / "results"):
        assert ROW.keys() - {"unit"} <= row.keys(), row["what"]


def test_the_pipeline_runs(tmp_path, client):
    command = [sys.executable, "examples/pipeline.py", str(tmp_path), "--cluster", client.scheduler.address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    ranks = pd.read_parquet(tmp_path / "ranks")
    assert ranks["pagerank"].sum() == pytest.approx(1)
    paid = pd.concat(pd.read_parquet(file) for file in (tmp_path / "transactions").iterdir())
    paid = paid[(paid["status"] == "done") & (paid["payer"] != paid["payee"])]
    assert set(ranks["vertex"]) == set(paid["payer"]) | set(paid["payee"])
    assert ranks["country"].notna().all()


def test_the_command_line_pipeline_runs(tmp_path):
    command = ["make", "-f", str(ROOT / "examples/pipeline.mk"), "-C", str(tmp_path)]
    command.append(f"DGRAPH={sys.executable} -m dgraph")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_parquet(tmp_path / "ranks.parquet")) == 4096
    assert "up to date" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
