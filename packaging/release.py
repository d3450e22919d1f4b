"""Makes a release: `make release`, and `make release VERSION=1.2.3` for a new version (docs/releasing.md).

It builds the sdist, and the wheel from the sdist; installs the wheel in a new environment of each Python that is here,
with the newest versions of what it depends on and with the lowest; runs the start page of the documentation there; and
checks that each extra can be resolved and that the recipe of the conda package is valid. The files are in dist/. The
lowest versions are without the extra for plots, and what the page plots is left out.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST, FRAGMENTS, CHANGES = ROOT / "dist", ROOT / "changelog.d", ROOT / "CHANGELOG.md"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
NO_LOWEST = ("3.14",)  # for which the lowest versions of some dependencies have no wheels
KINDS = ("added", "changed", "fixed", "removed")
VERSIONED = {  # where the version stands besides dgraph/__init__.py
    ROOT / "CITATION.cff": r"^version: (.+)$",
    ROOT / "packaging" / "recipe.yaml": r'^  version: "(.+)"$',
}
PAGE = ROOT / "docs" / "start.md"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--version", help="write this version, and the changes since the last one, first")
    options.add_argument("--lowest", nargs="*", default=[], help="the lowest supported versions, as pip takes them")
    given = options.parse_args()
    if given.version:
        prepare(given.version)
    wheel = build()
    failed = [f"{python}, {name} dependencies" for python, name, ok in tried(wheel, given.lowest) if not ok]
    failed += [f"the extra {extra}" for extra in unresolved(wheel)]
    failed += check_recipe()
    if failed:
        sys.exit(f"failed: {'; '.join(failed)}")
    say(f"ready: {', '.join(str(one.relative_to(ROOT)) for one in sorted(DIST.iterdir()))}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# -- a new version -----------------------------------------------------------------------------------------------------


def prepare(version: str) -> None:
    """Write the version where it stands, and move the fragments of changes under its heading in CHANGELOG.md."""
    package = ROOT / "dgraph" / "__init__.py"
    found = re.search(r'^__version__ = "(.+)"$', package.read_text(), re.MULTILINE)
    assert found is not None, f"{package} has a line __version__"
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"{version}: write a version as three numbers, such as 1.2.3")
    if numbers(version) <= numbers(found[1]):
        sys.exit(f"{version} does not come after {found[1]}, the version of this clone")
    changes = changes_of(FRAGMENTS)
    package.write_text(package.read_text().replace(found[0], f'__version__ = "{version}"'))
    for path, pattern in VERSIONED.items():
        path.write_text(re.sub(pattern, lambda line: line[0].replace(found[1], version), path.read_text(), flags=re.M))
    before, first, after = CHANGES.read_text().partition("\n## ")
    CHANGES.write_text(f"{before}\n## {version}\n\n{changes}{first}{after}")
    for fragment in fragments(FRAGMENTS):
        fragment.unlink()
    say(f"{found[1]} is now {version}: look at CHANGELOG.md before you commit")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def fragments(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.md") if path.name != "README.md")


def changes_of(folder: Path) -> str:
    """The fragments as sections of the changelog."""
    unknown = [path.name for path in fragments(folder) if path.name.split(".")[-2] not in KINDS]
    if unknown:
        sys.exit(f"{', '.join(unknown)}: call a fragment TOPIC.KIND.md, where the kind is one of {', '.join(KINDS)}")
    sections = []
    for kind in KINDS:
        texts = [path.read_text().strip() for path in fragments(folder) if path.name.endswith(f".{kind}.md")]
        if texts:
            bullets = "\n".join("* " + text.replace("\n", "\n  ") for text in texts)
            sections.append(f"### {kind.capitalize()}\n\n{bullets}\n")
    return "\n".join(sections)


# -- what is released --------------------------------------------------------------------------------------------------


def build() -> Path:
    """The wheel, made from the sdist, so that the sdist is known to be whole."""
    shutil.rmtree(DIST, ignore_errors=True)
    hatch(ROOT, "sdist")
    (sdist,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        hatch(source, "wheel")
    (wheel,) = DIST.glob("*.whl")
    return wheel


def hatch(source: Path, target: str) -> None:
    run([sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(DIST)], cwd=source)


def tried(wheel: Path, lowest: list[str]) -> list[tuple[str, str, bool]]:
    """Whether the start page runs with each Python that is here, with the newest and the lowest dependencies."""
    found = []
    for version in PYTHONS:
        python = interpreter(version)
        if python is None:
            say(f"Python {version} is not here")
            continue
        for name, pins in (("newest", []), ("lowest", lowest)):
            if name == "lowest" and (not lowest or version in NO_LOWEST):
                continue
            with tempfile.TemporaryDirectory() as folder:
                begun = time.monotonic()
                ok = runs_page(python, wheel, pins, Path(folder))
                seconds = time.monotonic() - begun
            say(f"Python {version}, {name} dependencies: {'runs' if ok else 'FAILS'} ({seconds:.0f} s)")
            found.append((f"Python {version}", name, ok))
    return found


def interpreter(version: str) -> str | None:
    """The command of a Python that can be run (one of a version manager may be listed and not be there)."""
    command = shutil.which(f"python{version}")
    works = command and subprocess.run([command, "-c", "import venv"], capture_output=True).returncode == 0
    return command if works else None


def runs_page(python: str, wheel: Path, pins: list[str], folder: Path) -> bool:
    """Whether the code of the start page runs in a new environment with nothing but the wheel: with its extra for plots
    or, if versions are pinned, without plots."""
    run([python, "-m", "venv", str(folder / "venv")])
    inside = str(folder / "venv" / "bin" / "python")
    pip = [inside, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    if subprocess.run([*pip, *([str(wheel), *pins] if pins else [f"{wheel}[plots]"])]).returncode:
        return False
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    cells = [cell for cell in cells if not (pins and ".plot(" in cell)]
    (folder / "page.py").write_text("\n".join(["if __name__ == '__main__':", *indented("\n".join(cells))]))
    return subprocess.run([inside, "page.py"], cwd=folder, env=plain(), stdout=subprocess.DEVNULL).returncode == 0


def indented(code: str) -> list[str]:
    """The code in a block, because workers that are started as processes import the main module again."""
    return [f"    {line}" for line in code.splitlines()]


def plain() -> dict[str, str]:
    """This environment without what would show the new one another dgraph."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"MPLBACKEND": "agg"}


def unresolved(wheel: Path) -> list[str]:
    """The extras for which pip finds no set of packages."""
    text = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^(\w+) = \[", text, re.MULTILINE)
    failed = []
    for extra in extras:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        done = subprocess.run([*command, f"{wheel}[{extra}]"], capture_output=True, text=True)
        say(f"extra {extra}: {'can be resolved' if done.returncode == 0 else 'CANNOT be resolved'}")
        if done.returncode:
            say(done.stderr.strip()[-500:])
            failed.append(extra)
    return failed


def check_recipe() -> list[str]:
    """Render the recipe of the conda package, if its tool is installed."""
    try:
        import rattler_build
    except ImportError:
        say("the recipe of the conda package is not checked: pip install py-rattler-build")
        return []
    rattler_build.Stage0Recipe.from_file(str(ROOT / "packaging" / "recipe.yaml")).render()
    say("the recipe of the conda package is valid")
    return []


def run(command: list[str], cwd: Path = ROOT) -> None:
    subprocess.run(command, cwd=cwd, check=True, env=plain())


if __name__ == "__main__":
    main()
