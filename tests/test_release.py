"""What `make release` makes: a wheel and an sdist that hold what they should, and descriptions of the package that
agree with pyproject.toml."""

import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from distributed.cli import dask_scheduler, dask_worker

import dgraph as dg

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"
OF_CONDA = {"xxhash": "python-xxhash"}  # names that differ
# In the root of an sdist, besides what hatchling adds
KEPT = {
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md"),
    *("benchmarks", "changelog.d", "dgraph", "docs", "examples", "packaging", "pyproject.toml", "tests"),
}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("release", PACKAGING / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of both files. `make release` makes the wheel from the sdist, which takes longer."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "--directory", str(folder)], cwd=ROOT, check=True)
    return folder


def sources(folder: Path) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(ROOT)) for path in files}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_wheel_has_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    about = f"dask_dgraph-{dg.__version__}.dist-info"
    names = set(zipfile.ZipFile(wheel).namelist())
    told = {name for name in names if name.startswith(about)}
    assert names - told == sources(ROOT / "dgraph")
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= {name.removeprefix(f"{about}/") for name in told}


def test_the_sdist_has_what_a_clone_has_for_users(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {name.partition("/")[0] for name in names} == KEPT | {"PKG-INFO", ".gitignore"}
    assert sources(ROOT / "dgraph") <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("docs/reference/generated")]


def test_the_citation_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == dg.__version__
    assert cited["license"] == project()["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = yaml.safe_load((PACKAGING / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == dg.__version__
    assert project()["requires-python"] == f">={recipe['context']['python_min']}"
    needed = {re.sub(r"\[\w+\]", "", one) for one in project()["dependencies"]}
    listed = {one.replace(" ", "") for one in recipe["requirements"]["run"][2:]}
    assert listed == {OF_CONDA.get((name := one.partition(">")[0]), name) + one.removeprefix(name) for one in needed}
    assert recipe["build"]["python"]["entry_points"] == [f"{n} = {m}" for n, m in project()["scripts"].items()]


def test_the_example_cluster_starts_what_exists():
    services = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]
    image = (PACKAGING / "Dockerfile").read_text()
    mains = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    for name, main in mains.items():
        command = services[name]["command"]
        assert command[:2] == ["dask", name]
        main.make_context(name, command[2:])  # which refuses an option that Dask does not have
    program, path = services["pipeline"]["command"][:2]
    assert program == "python"
    assert f"COPY examples{path.removeprefix('/examples')} /examples/" in image
    for copied in re.findall(r"^COPY (?!--)(.+) \S+$", image, re.MULTILINE):
        assert all((ROOT / one).exists() for one in copied.split())


def test_fragments_become_sections_of_the_changelog(script, tmp_path):
    for name, text in {
        "b-thing.fixed.md": "One line.\n",
        "a-thing.added.md": "Two\nlines.\n",
        "README.md": "how to\n",
        "z-thing.added.md": "More.\n",
    }.items():
        (tmp_path / name).write_text(text)
    assert script.changes_of(tmp_path) == "### Added\n\n* Two\n  lines.\n* More.\n\n### Fixed\n\n* One line.\n"


@pytest.mark.parametrize("name", ["a-thing.improved.md", "a-thing.md"])
def test_a_fragment_of_an_unknown_kind_is_refused(script, tmp_path, name):
    (tmp_path / name).write_text("Lost.\n")
    with pytest.raises(SystemExit, match=f"{name}: call a fragment .* one of added, changed, fixed, removed"):
        script.changes_of(tmp_path)


def test_all_fragments_have_a_kind_that_a_release_knows(script):
    kinds = {path.name.split(".")[-2] for path in script.fragments(ROOT / "changelog.d")}
    assert kinds <= set(script.KINDS)


def test_a_version_must_come_after_the_last_one(script):
    for version, why in {dg.__version__: "does not come after", "0.0.1": "does not come after", "1.0": "three"}.items():
        with pytest.raises(SystemExit, match=why):
            script.prepare(version)


def test_every_place_of_the_version_is_written(script):
    for path, pattern in script.VERSIONED.items():
        assert re.findall(pattern, path.read_text(), re.MULTILINE) == [dg.__version__], path.name
