"""What has never run on a GPU is called experimental wherever a user meets it: docs, docstrings, help and examples."""

import inspect
import re
from pathlib import Path

import click
import pytest

import dgraph as dg
from dgraph.cli.app import dgraph

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GPU = re.compile(r"\bGPUs?\b|cuda\b|cugraph|cudf", re.IGNORECASE)
# In prose, other mentions are of GPUs and libraries as such: NVIDIA's cuGraph in a comparison, say.
BY_GPU = re.compile(r'"cugraph"|"cuda own process"|daemons="cuda|device="cuda"|\bcuDF|cudf\b|GPU daemon')


def unmarked(text: str, pattern: re.Pattern = GPU) -> bool:
    """Whether a text is about GPUs and does not say that they are experimental."""
    return bool(pattern.search(text)) and "experimental" not in text.lower()


def sections(page: str) -> list[str]:
    """The parts of a page from one heading to the next, without the code of examples."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.split(r"^(?=#+ )", prose, flags=re.MULTILINE)


def public():
    """The name and docstring of all that `import dgraph` offers, methods included."""
    for name in dir(dg):
        one = getattr(dg, name)
        if name.startswith("_") or inspect.ismodule(one):
            continue
        yield name, inspect.getdoc(one) or ""
        if inspect.isclass(one):
            methods = inspect.getmembers(one)
            yield from ((f"{name}.{each}", inspect.getdoc(m) or "") for each, m in methods if not each.startswith("_"))


def options(command: click.Command, path: str):
    """Every option of every command, and all that its help says."""
    context = click.Context(command, info_name=path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from options(command.get_command(context, name), f"{path} {name}")
    for one in command.params:
        if isinstance(one, click.Option):
            yield f"{path} {one.opts[0]}", " ".join(one.get_help_record(context) or ())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_docs_call_it_experimental(page):
    head, *rest = sections(page.read_text())
    all_of_it = "Everything on this page is experimental" in page.read_text()
    assert [one for one in (head, *rest) if unmarked(one, BY_GPU) and not all_of_it] == []


def test_docstrings_call_it_experimental():
    assert [name for name, text in public() if unmarked(text)] == []


def test_help_calls_it_experimental():
    assert [name for name, text in options(dgraph, "dgraph") if unmarked(text)] == []


def test_the_example_for_gpus_calls_it_experimental():
    assert not unmarked((ROOT / "examples" / "gpu.py").read_text().partition('"""')[2].partition('"""')[0])


def test_a_text_on_gpus_that_does_not_say_experimental_is_found():
    assert unmarked("Runs on GPUs.") and unmarked('engine="cugraph" is fast', BY_GPU)
    assert not unmarked("Runs on GPUs (experimental).") and not unmarked("cuGraph's answer differs", BY_GPU)
    assert any(name == "run" for name, _ in public()) and any(name == "Graph.from_edges" for name, _ in public())
    assert sum(GPU.search(text) is not None for _, text in options(dgraph, "dgraph")) > 20
