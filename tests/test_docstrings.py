"""The docstrings of public names: their sections are complete, and their examples run."""

import builtins
import doctest
import inspect
import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors, laws, reference
from dgraph.communities.detection import CommunityResult
from dgraph.runs.result import RunResult
from dgraph.runs.run_report import RunReport
from dgraph.trees.spanning_forest import SpanningForest
from dgraph.walks.neighbor_sample import NeighborSample

GLOBALS = {"__name__": "__main__", "dg": dg, "np": np, "pd": pd}
SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples")  # in this order
LAWS = ("check_merge", "check_silence", "check_grouping", "check_program")
MADE = "functions of dgraph make them"
# Sections that a docstring may lack, and why
NOT_CALLED = {
    **dict.fromkeys(
        (
            "Graph",
            "RunResult",
            "RunReport",
            "CommunityResult",
            "NeighborSample",
            "SpanningForest",
            "reference.Reference",
        ),
        MADE,
    ),
    **{f"errors.{name}": "dgraph raises it" for name, one in vars(errors).items() if inspect.isclass(one)},
}
NO_EXAMPLE = {
    **dict.fromkeys(("RunResult.to_cudf", "CommunityResult.to_cudf"), "needs a GPU"),
    "reference.Reference": "`run` has it",
    "errors.LostError": "needs a cluster that loses a worker",
    "errors.LostChainError": "needs a cluster that loses a worker, too",
    "errors.SilentWorkerWarning": "needs a cluster that loses a worker",
    "errors.EndlessWarning": "needs a run of thousands of rounds",
}


def public() -> Iterator[tuple[str, object]]:
    """Every public function and class, and the public methods and properties of these classes."""
    exported = {name: getattr(dg, name) for name in dg.__all__} | {"RunResult": RunResult, "RunReport": RunReport}
    exported |= {
        "CommunityResult": CommunityResult,
        "NeighborSample": NeighborSample,
        "SpanningForest": SpanningForest,
    }
    exported |= {f"laws.{name}": getattr(laws, name) for name in LAWS}
    exported |= {"reference.run": reference.run, "reference.Reference.results": reference.Reference.results}
    exported |= {"reference.Reference": reference.Reference}
    exported |= {f"errors.{name}": one for name, one in vars(errors).items() if inspect.isclass(one)}
    for name, value in exported.items():
        if inspect.isroutine(value) or inspect.isclass(value):
            yield name, value
        for member in dir(value) if inspect.isclass(value) and "." not in name else ():
            attribute = inspect.getattr_static(value, member)
            plain = getattr(attribute, "__func__", attribute)
            inherited = issubclass(value, pd.DataFrame) and hasattr(pd.DataFrame, member)
            if not (member.startswith("_") or inherited) and isinstance(
                plain, property | cached_property | type(public)
            ):
                yield f"{name}.{member}", plain


PUBLIC = dict(public())
PROPERTIES = [name for name, value in PUBLIC.items() if isinstance(value, property | cached_property)]
INTERNAL = [name for name in PUBLIC if name == "VertexProgram.of" or name.endswith(".cast")]  # only dgraph calls them
CALLED = [name for name in PUBLIC if name not in (*PROPERTIES, *INTERNAL)]


def sections(value: object) -> list[str]:
    """The headings of a docstring."""
    return re.findall(r"^(\w[\w ]*)\n-+$", inspect.getdoc(value) or "", re.MULTILINE)


def entries(value: object, heading: str) -> list[str]:
    """The names that a section of a docstring describes."""
    text = inspect.getdoc(value) or ""
    section = re.search(rf"^{heading}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r"^(\S.*?)(?: : .*)?$", section[1], re.MULTILINE) if section else []
    return [name for entry in found for name in entry.split(", ")]


def parameters_described(value: object) -> list[str]:
    """The names in the section "Parameters" of a docstring."""
    return entries(value, "Parameters")


def returned(name: str) -> str:
    """The annotation of what a function or property returns; of a class, "None"."""
    value = PUBLIC[name]
    if inspect.isclass(value):
        return "None"
    function = value.fget if isinstance(value, property) else getattr(value, "func", value)
    return str(inspect.signature(function).return_annotation)


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")])
def test_the_examples_of_a_docstring_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(PUBLIC[name]), dict(GLOBALS), name, None, None)
    told: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(examples, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if parameters_described(value)])
def test_a_docstring_describes_every_parameter(name):
    parameters = inspect.signature(PUBLIC[name]).parameters.values()
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(one.kind, "") + one.name for one in parameters if one.name not in ("self", "cls")]
    assert parameters_described(PUBLIC[name]) == names


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_begins_with_a_sentence_on_one_line(name):
    summary, *rest = (inspect.getdoc(PUBLIC[name]) or "").split("\n")
    assert summary.endswith(".")
    assert not rest or rest[0] == ""


@pytest.mark.parametrize("name", PUBLIC)
def test_the_sections_of_a_docstring_are_in_order(name):
    found = sections(PUBLIC[name])
    assert found == [one for one in SECTIONS if one in found]


@pytest.mark.parametrize("name", CALLED)
def test_functions_and_classes_have_all_sections(name):
    value, needed = PUBLIC[name], set()
    if name not in NOT_CALLED and set(inspect.signature(value).parameters) - {"self", "cls"}:
        needed |= {"Parameters"}
    if returned(name) != "None":
        needed |= {"Yields" if "Iterator" in returned(name) else "Returns"}
    if name not in NO_EXAMPLE:
        needed |= {"Examples"}
    assert needed - set(sections(value)) == set()


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_says_what_type_it_has(name):
    assert returned(name) != "Any" or "Returns" in sections(PUBLIC[name])


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if "Raises" in sections(value)])
def test_what_a_docstring_says_is_raised_exists(name):
    for raised in entries(PUBLIC[name], "Raises"):
        assert issubclass(getattr(errors, raised, None) or getattr(builtins, raised), Exception)


def test_only_what_is_public_is_exempt():
    assert set(NO_EXAMPLE) <= set(PUBLIC)
    assert all("Examples" not in sections(PUBLIC[name]) for name in NO_EXAMPLE)


@pytest.mark.parametrize("name", dg.ALL_OPERATIONS)
def test_every_operation_has_all_sections(name):
    assert {"Parameters", "Returns", "Raises", "Examples"} <= set(sections(PUBLIC[name]))
    assert {"OptionError", "RoomError"} <= set(entries(PUBLIC[name], "Raises"))
    assert re.search(
        r"^Returns\n-------\n(Community|Factor|Run)Result\n    ", inspect.getdoc(PUBLIC[name]), re.MULTILINE
    )


def test_a_wrong_example_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(PUBLIC, "wrong", type("Wrong", (), {"__doc__": ">>> 1 + 1\n3\n"}))
    with pytest.raises(AssertionError, match=r"Expected:\n *3\n *Got:\n *2"):
        test_the_examples_of_a_docstring_run("wrong", tmp_path, monkeypatch)
