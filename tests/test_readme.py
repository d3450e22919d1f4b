"""What README.md says is true: its code gives what it says, its tables are complete, its links lead somewhere."""

import ast
import importlib.util
import linecache
import pkgutil
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLAIN = [*ROOT.glob("*.md"), ROOT / "changelog.d" / "README.md", *sorted((ROOT / "benchmarks").rglob("*.md"))]
README = (ROOT / "README.md").read_text()


def code_blocks(page: Path) -> list[str]:
    """The code of a page, without the options of cells: lines such as `:tags: [remove-cell]`."""
    block = r"^```(?:python|\{code-cell\})\n(?::[^\n]*\n)*(.*?)^```"
    return re.findall(block, page.read_text(), re.DOTALL | re.MULTILINE)


def run(block: str, names: dict[str, object]) -> int:
    """Run a block and return how many values it checked: `value  # -> text` must print as that text, and `value` with
    lines `# -> text` under it as those lines."""
    told, lines, file = 0, block.splitlines(keepends=True), f"<code {hash(block)}>"
    linecache.cache[file] = len(block), None, lines, file  # so that functions in the block have a source
    for statement in ast.parse(block).body:
        end = statement.end_lineno or 0
        said = re.findall(r"# -> (.*)$", lines[end - 1])
        below = takewhile(lambda line: line.startswith("# -> "), lines[end:])
        said = said or [line.removeprefix("# -> ").rstrip() for line in below]
        if said:
            assert isinstance(statement, ast.Expr), f"{said[0]}: stands behind a statement, which has no value"
            value = eval(compile(ast.Expression(statement.value), file, "eval"), names)
            assert [line.rstrip() for line in repr(value).splitlines()] == [line.rstrip() for line in said]
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
    assert run("pd.Series([1])\n# -> 0    1\n# -> dtype: int64\n", {"pd": pd}) == 1
    for wrong in ("1 + 1  # -> 3", "1 + 1\n# -> 3", "1 + 1\n# -> 2\n# -> 2"):
        with pytest.raises(AssertionError):
            run(wrong, {})


def test_cells_with_options_are_run_too(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```{code-cell}\n:tags: [remove-cell]\nx = 1\n```\n\nText: x.\n\n```{code-cell}\nx[1:\n2]\n```\n")
    assert code_blocks(page) == ["x = 1\n", "x[1:\n2]\n"]


@pytest.mark.parametrize("page", sorted({*PAGES, *PLAIN}), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = [link for link in re.findall(r"\]\(([^)#]+)", page.read_text()) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.tiny
@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_modules_and_files_exist_by_the_names_used(page):
    text = re.sub(r"`[^`\n]*NAME[^`\n]*`", "", page.read_text())  # NAME stands for any
    for name in re.findall(r"`(?:dg|dgraph)((?:\.\w+)+)", text):
        pkgutil.resolve_name(f"dgraph{name}")
    paths = set(re.findall(r"`((?:dgraph|tests|docs|examples|benchmarks)/[\w./]+)`", text))
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@pytest.mark.tiny
def test_make_help_lists_what_the_readme_calls():
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert set(re.findall(r"make (\w+)", README)) <= listed
    assert {"install", "demo", "test", "tiny", "lint", "types", "bench", "help"} <= listed


def test_the_demo_runs_small():
    command = [sys.executable, "-W", "error", "examples/demo.py", "--scale", "8", "--parts", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "256 vertices, 4,096 edges, 3 partitions" in done.stdout
    assert "replication" in done.stdout


def test_the_example_of_samples_runs_without_pytorch():
    command = [sys.executable, "-W", "error", "examples/neighbor_sampling.py", "--scale", "8", "--size", "100"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"x \((\d+), 8\), edge_index \(2, \d+\), n_id \(\1,\), batch_size 100\n", done.stdout), done.stdout


def test_the_example_for_gpus_runs_without_one():
    command = [sys.executable, "-W", "error", "examples/gpu.py", "--scale", "8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
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


def seconds(title, peer, column, ours=0.25, theirs=1.5, **facts):
    """A record of `operations.py`."""
    row = ROW | {"title": title, "peer": peer, "column": column, "ours": ours, "theirs": theirs, "ratio": ours / theirs}
    return row | {"name": "operations", "detail": True, "graph": "a graph", "notes": ["exact", "rough"]} | facts


@pytest.mark.tiny
def test_a_measurement_becomes_a_row_of_the_table(readme):
    slow = ROW | {"what": "more", "ratio": 2.0, "met": False}
    plain = ROW | {"what": "for information", "target": None, "met": None}
    lines = readme.table([ROW, slow, plain])
    assert lines[2] == r"| 16 M edges | a\|b | 250 ms | 1.5 s | 0.17 | ≤ 0.5, met |"
    assert lines[3].endswith("| 2.00 | ≤ 0.5, **not met** |")
    assert lines[4].endswith("| 0.17 |  |")
    written = readme.full([ROW, slow, plain])
    assert "\n".join(lines) in written
    assert "\nMeasured 2020-02-02 on two cores; dgraph 1.\n" in written
    assert "1 of 2 targets are met, 1 are not." in written
    later = [
        ROW | {"date": f"2020-02-{day:02}", "versions": {"dgraph": f"1.{day}", "numpy": "2"}} for day in (11, 3, 9)
    ]
    assert "Measured 2020-02-03 to 2020-02-11 on two cores; dgraph 1.3 to 1.11, numpy 2." in readme.full(later)


@pytest.mark.tiny
def test_the_readme_table_shows_ratios_of_one_run(readme):
    found = [
        seconds("BFS", "SciPy", "alone", ours=0.5, theirs=2.0),
        seconds("BFS", "SciPy", "end to end", ours=1.0, theirs=3.0),
        seconds("BFS", "igraph", "alone", ours=0.25, theirs=0.125),
        seconds("WCC", "GraphX", "alone", ours=1.0, theirs=40.0, over=True),
        seconds("BFS", "elsewhere", "alone", graph="one with fewer records"),
        seconds("SCC", "SciPy", "alone"),
        seconds("BFS", "not in the short table", "alone"),
    ]
    lines = readme.short(found).splitlines()
    assert [line for line in lines if line.startswith("|")] == [
        "| a graph | BFS | WCC |",
        "| --- | ---: | ---: |",
        "| igraph | **0.5** |  |",
        "| SciPy | 4 (3) |  |",
        "| GraphX |  | > 40 |",
    ]
    assert "dgraph on two cores: BFS 0.25, WCC 1 s." in lines
    workers = [seconds("BFS", "SciPy", "workers", 1.0, 2.0), seconds("WCC", "GraphX", "workers", 3.0, 40.0)]
    elsewhere = seconds("BFS", "igraph", "workers", 9.0, 0.5)  # not in a run with one process
    assert "dgraph takes 2.0 to 3.0 times as long." in readme.short([*found, *workers, elsewhere])
    assert readme.short([ROW]) == "Nothing is measured yet."


@pytest.mark.tiny
def test_peer_seconds_are_shown_beside_those_of_dgraph_in_the_same_run(readme):
    found = [
        seconds("BFS", "one", "alone", ours=0.5),
        seconds("BFS", "one", "end to end", ours=0.75, theirs=0.625),
        seconds("BFS", "another", "alone", ours=1.0, theirs=0.5),
        seconds("BFS", "another", "workers", ours=2.0, theirs=0.5),
    ]
    lines = readme.full(found).splitlines()
    alone, whole = lines.index("Operation alone:"), lines.index("End to end:")
    assert lines[alone + 4 : alone + 7] == [
        "| one | 1.5 / **0.5** |",
        "| another | **0.5** / 1 |",
        "| another / dgraph on two Dask workers | **0.5** / 2 |",
    ]
    assert lines[whole + 4] == "| one | **0.625** / 0.75 |"
    assert "* dgraph. BFS: exact." in lines and "* one. BFS: rough." in lines


@pytest.mark.tiny
def test_operations_and_peers_without_measurements_are_left_out(readme):
    found = [
        seconds("BFS", "one", "alone"),
        seconds("cores", "dgraph", "with a frame"),
        seconds("BFS", "two", "memory"),
    ]
    lines = readme.full(found).splitlines()
    assert "|  | BFS |" in lines and "| one | 1.5 / **0.25** |" in lines
    assert not [line for line in lines if line.startswith("|") and ("cores" in line or "two" in line)]
    found.append(seconds("cores", "dgraph", "with a frame", graph="an empty graph"))
    assert "an empty graph" not in readme.full(found)


def test_nothing_takes_longer_alone_than_end_to_end(readme):
    """In what one run recorded, which are the numbers that the tables show side by side. The threads of a search for
    communities race, so that it takes more passes in one trial than in another."""
    found = {}
    for row in readme.read(ROOT / "benchmarks" / "results"):
        if row.get("detail") and row["ratio"] is not None and row["operation"] not in ("leiden", "louvain"):
            found.setdefault((row["graph"], row["title"], row["peer"]), {})[row["column"]] = row
    both = [one for one in found.values() if {"alone", "end to end"} <= one.keys()]
    assert both
    for one in both:
        alone, whole = one["alone"], one["end to end"]
        assert alone["ours"] <= whole["ours"] and alone["theirs"] <= whole["theirs"], whole["what"]


@pytest.mark.tiny
def test_only_the_table_is_rewritten(readme):
    once = readme.replaced(README, readme.short([ROW]))
    assert readme.replaced(once, "new") == readme.replaced(README, "new")
    assert once.startswith(README.split(readme.START)[0])
    assert once.endswith(README.split(readme.END)[1])
    with pytest.raises(SystemExit, match="lacks the marks"):
        readme.replaced("no marks", "new")


def test_the_tables_are_those_of_the_results(readme):
    rows = readme.read(ROOT / "benchmarks" / "results")
    assert readme.replaced(README, readme.short(rows)) == README
    assert readme.MEASURED.read_text().endswith(f"\n\n{readme.full(rows)}\n")


def test_results_are_kept_in_the_form_that_the_table_reads(readme):
    for row in readme.read(ROOT / "benchmarks" / "results"):
        assert ROW.keys() - {"unit"} <= row.keys(), row["what"]


def test_the_pipeline_runs(tmp_path, client):
    command = [sys.executable, "examples/pipeline.py", str(tmp_path), "--cluster", client.scheduler.address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
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
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_parquet(tmp_path / "ranks.parquet")) == 4096
    assert "up to date" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_readme_stays_short():
    assert len(README.splitlines()) <= 150
