"""The package as a whole: what an import costs, the public names, the tree of errors, and the shape of the source."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import plain_english
import pytest
from code_lines import by_room, code_lines
from error_messages import messages

import dgraph
from dgraph import errors

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "dgraph").rglob("*.py"))
FOLDERS = ("dgraph", "tests", "benchmarks", "examples")
HERE = Path(__file__)
EVERYTHING = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]

HEAVY = {"cudf", "cupy", "dask", "distributed", "numba", "numpy", "pandas", "pyarrow", "scipy"}
MOST, MEAN = 480, 150  # lines of a file
EMPTY_NAMES = {"utils", "util", "common", "base", "core", "helpers", "helper", "misc", "manager"}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# -- the import --------------------------------------------------------------------------------------------------------


@pytest.mark.tiny
def test_import_loads_nothing_heavy_and_starts_nothing():
    """Under 0.4 s follows: Python itself and two small modules are all that is loaded."""
    code = "import dgraph, json, sys, threading; print(json.dumps([sorted(sys.modules), threading.active_count()]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    modules, threads = json.loads(done.stdout)
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert [name for name in modules if name.startswith("dgraph.")] == []
    assert threads == 1


@pytest.mark.tiny
def test_a_graph_loads_no_more_than_it_needs():
    """Kernels, daemons and what measures workers come with the first run."""
    code = "import dgraph, sys; dgraph.Graph; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len([name for name in done.stdout.split() if name.split(".")[0] == "dgraph"]) <= 110


@pytest.mark.tiny
def test_every_public_name_is_there():
    assert {"Graph", "errors", "__version__"} <= set(dir(dgraph))
    assert sorted(dgraph.__all__) == dir(dgraph)
    for name in dir(dgraph):
        assert getattr(dgraph, name) is not None, name
    with pytest.raises(AttributeError, match="'no_such_name'"):
        _ = dgraph.no_such_name


@pytest.mark.tiny
def test_type_checkers_see_the_names_that_are_looked_up():
    tree = ast.parse((ROOT / "dgraph/__init__.pyi").read_text())
    names = [name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names]
    private = [name.name for name in names if name.asname != name.name]
    assert not private, f"dgraph/__init__.pyi: import {', '.join(private)} as `name as name`, or it is private"
    assert [name.name for name in names] == dgraph.__all__[1:]
    assert (ROOT / "dgraph/py.typed").is_file()


@pytest.mark.tiny
def test_the_version_is_the_newest_of_the_changelog():
    versions = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert dgraph.__version__ == versions[0]


@pytest.mark.tiny
def test_the_lowest_versions_of_dependencies_are_those_tried():
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    tried = re.findall(r"^(?:DASK|WITH_lowest) := (?:\\\n|.)*$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sorted(re.findall(r"'(.+?)'", " ".join(tried))) == sorted(one.replace(">=", "==") for one in lowest)


@pytest.mark.tiny
def test_a_small_graph_comes_back():
    """A word from everything below: ids, placement, kernels, partitions, frames."""
    frame = pd.DataFrame({"src": ["b", "a", "c", "a"], "dst": ["c", "b", "c", "d"], "weight": [1.5, 2.0, 0.0, -1.0]})
    graph = dgraph.Graph.from_edges(frame, weight="weight", vertices=pd.DataFrame({"id": ["z"]}), parts=3)
    found = graph.edges.compute().sort_values(["src", "dst"], ignore_index=True)
    pd.testing.assert_frame_equal(found, frame.sort_values(["src", "dst"], ignore_index=True))
    assert sorted(graph.vertices.compute()["id"]) == ["a", "b", "c", "d", "z"]
    assert graph.partitions.report.frame[["vertices", "edges"]].sum().tolist() == [5, 4]


# -- errors ------------------------------------------------------------------------------------------------------------


def drawn_tree() -> dict[str, str]:
    """Child to parent, as the docstring of dgraph.errors draws them."""
    above: list[tuple[int, str]] = []
    found = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"([ │├└─]*)(\w+Error)\b", line):
            depth, name = len(match[1]), match[2]
            above = [one for one in above if one[0] < depth]
            if above:
                found[name] = above[-1][1]
            above.append((depth, name))
    return found


@pytest.mark.tiny
def test_the_tree_of_errors_is_the_one_drawn():
    classes = [one for one in vars(errors).values() if isinstance(one, type) and not issubclass(one, Warning)]
    real = {one.__name__: one.__bases__[0].__name__ for one in classes if one is not errors.DgraphError}
    assert real == drawn_tree()
    assert all(issubclass(one, errors.DgraphError) for one in classes)
    assert issubclass(errors.InputError, ValueError)


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name != "errors.py"], ids=named)
def test_errors_are_defined_in_one_place(path):
    """Also under other names: a class is an error if one of its bases is called Error or Exception."""
    classes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    assert [
        one.name for one in classes if any(re.search(r"(Error|Exception)$", ast.unparse(base)) for base in one.bases)
    ] == []


def test_make_errors_lists_a_message_of_every_class():
    """Of every class that is raised or warned with; with holes and remedies, also where a helper completes it."""
    listed = {(kind, said) for _, _, kind, said in messages()}
    bases = {"DgraphError"}
    classes = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
    assert classes - bases <= {kind for kind, _ in listed}
    tol = "{format_option('tol', tol)} must be a number >= 0; 0 runs exactly max_iter= rounds"
    assert ("OptionError", tol) in listed
    assert ("FileError", "{path}, line {1}: the text is UTF-16 (save it as UTF-8)") in listed
    assert ("ProgramError", "an annotation without a value does nothing ; Remove it.") in listed
    wrong_sum = [said for kind, said in listed if kind == "SumError"]
    assert len(wrong_sum) == 1 and wrong_sum[0].startswith("{self.program}: the sum of the messages to {which}")


# -- the source --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EVERYTHING, ids=named)
def test_files_are_short_and_say_what_they_are_for(path):
    text = path.read_text()
    lines = len(text.splitlines())
    assert lines <= MOST, f"{lines} lines: cut it along a noun"
    if path in SOURCES and path.name != "__init__.py":
        head = ast.get_docstring(ast.parse(text))
        assert head, "open the file with one to three lines that say what it is for"


@pytest.mark.tiny
def test_files_are_short_on_average():
    lines = [len(path.read_text().splitlines()) for path in SOURCES]
    assert sum(lines) <= MEAN * len(lines)


@pytest.mark.tiny
def test_code_is_counted_without_blank_lines_comments_and_docstrings():
    head, string = '"""What\n\nit is."""\n\n# how\n', 'x = """a\nb"""\n'
    text = f'{head}def f():\n    """f"""\n    return (  # so\n        1\n    )\n\n\n{string}'
    assert code_lines(text) == 6
    assert all(by_room().values())


@pytest.mark.tiny
def test_files_are_named_for_what_they_hold():
    assert [named(path) for path in EVERYTHING if set(path.with_suffix("").relative_to(ROOT).parts) & EMPTY_NAMES] == []
    assert [named(path) for path in EVERYTHING if re.search(r"_(opt|v\d+|new|old)$", path.stem)] == []


@pytest.mark.tiny
def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by it, and refuses the second."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_source_is_free_of_unfinished_notes():
    notes = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    this = Path(__file__).resolve()
    assert [named(path) for path in EVERYTHING if path != this and notes.search(path.read_text())] == []


# -- the distribution --------------------------------------------------------------------------------------------------


def test_what_is_installed_is_called_dask_dgraph():
    """On PyPI `dgraph` is another library: no page, message or extra may tell anybody to install that."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "dask-dgraph"
    assert version("dask-dgraph") == dgraph.__version__
    texts = [*EVERYTHING, ROOT / "pyproject.toml", ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    wrong = re.compile(
        r"(?<![\w-])dgraph\[[a-z0-9]+\]|(?:pip install|uv add|uv pip install)[^\n#]* '?dgraph\b|version\(.dgraph.\)"
    )
    found = {named(path): wrong.search(path.read_text()) for path in texts if path != HERE}
    assert {name: match[0] for name, match in found.items() if match} == {}
    extras = {one for text in texts for one in re.findall(r"dask-dgraph\[([a-z0-9]+)\]", text.read_text())}
    assert extras and extras <= set(project["optional-dependencies"])


@pytest.mark.parametrize("phrase", plain_english.phrases(), ids=lambda phrase: phrase.place)
def test_a_phrase_that_reads_as_translated_is_found(phrase):
    """In the line of 0.9.3 in which it stood."""
    assert (1, re.search(phrase.pattern, phrase.line)[0], phrase.better) in plain_english.found_in(phrase.line)


def test_many_phrases_are_refused_and_named_with_their_line(monkeypatch, tmp_path):
    assert len(plain_english.phrases()) >= 60
    (tmp_path / "README.md").write_text("# Graphs\n\nIt opens in no time.\n")
    monkeypatch.setattr(plain_english, "ROOT", tmp_path)
    monkeypatch.setattr(plain_english, "PLACES", ("README.md",))
    assert plain_english.places() == ["README.md:3: 'in no time'; write: instantly"]
