"""The docstrings of public names: their examples run, and they describe every parameter."""

import doctest
import inspect
import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.runs.result import RunResult
from dgraph.runs.run_report import RunReport

GLOBALS = {"dg": dg, "np": np, "pd": pd}


def public() -> Iterator[tuple[str, object]]:
    """Every public function and class, and the public methods and properties of these classes."""
    exported = {name: getattr(dg, name) for name in dg.__all__} | {"RunResult": RunResult, "RunReport": RunReport}
    for name, value in exported.items():
        if inspect.isroutine(value) or inspect.isclass(value):
            yield name, value
        for member in dir(value) if inspect.isclass(value) else ():
            attribute = inspect.getattr_static(value, member)
            plain = getattr(attribute, "__func__", attribute)
            inherited = issubclass(value, pd.DataFrame) and hasattr(pd.DataFrame, member)
            if not (member.startswith("_") or inherited) and isinstance(
                plain, property | cached_property | type(public)
            ):
                yield f"{name}.{member}", plain


PUBLIC = dict(public())
OPERATIONS = [*dg.OPERATIONS, "factorize"]


def parameters_described(value: object) -> list[str]:
    """The names in the section "Parameters" of a docstring."""
    text = inspect.getdoc(value) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\S.*?)(?: : .*)?$", section[1], re.MULTILINE) if section else []
    return [name for entry in entries for name in entry.split(", ")]


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")])
def test_the_examples_of_a_docstring_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(PUBLIC[name]), dict(GLOBALS), name, None, None)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if parameters_described(value)])
def test_a_docstring_describes_every_parameter(name):
    parameters = inspect.signature(PUBLIC[name]).parameters.values()
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(one.kind, "") + one.name for one in parameters if one.name not in ("self", "cls")]
    assert parameters_described(PUBLIC[name]) == names


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_parameters_and_an_example(name):
    assert parameters_described(PUBLIC[name])
    assert ">>>" in PUBLIC[name].__doc__
    assert re.search(r"^Returns\n-------\nRunResult\n    ", inspect.getdoc(PUBLIC[name]), re.MULTILINE)


def test_a_wrong_example_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(PUBLIC, "wrong", type("Wrong", (), {"__doc__": ">>> 1 + 1\n3\n"}))
    with pytest.raises(AssertionError, match=r"Expected:\n *3\n *Got:\n *2"):
        test_the_examples_of_a_docstring_run("wrong", tmp_path, monkeypatch)
