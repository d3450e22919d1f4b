"""A function as it stands in a file, from which kernels are made: its syntax tree, and where that is."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from dgraph.errors import ProgramError


@dataclass(frozen=True)
class Definition:
    """The text of a function."""

    tree: ast.FunctionDef
    file: str
    line: int


def definition_of(python: Any, title: str) -> Definition:
    """Where a function is written; `title` is its name in errors. What has no text of its own is refused."""
    if hasattr(python, "__wrapped__"):
        raise ProgramError(
            f"{title}: kernels are made of the function's own text, without its decorator; leave that out"
        )
    if not inspect.isfunction(python):
        raise ProgramError(f"{title} is {python!r}, which is no function: write it with def")
    code = python.__code__
    place = f"{code.co_filename}, line {code.co_firstlineno}"
    if code.co_name == "<lambda>" or inspect.iscoroutinefunction(python):
        raise ProgramError(f"{place}: {title} must be written as a function with def, not as a lambda or with async")
    try:
        lines, line = inspect.getsourcelines(python)
    except OSError as error:
        raise ProgramError(
            f"{title}: the text of this function cannot be read, and kernels are made from it. Define the program in a "
            "file or in a notebook cell, with def"
        ) from error
    try:
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:
        tree = ast.Pass()
    if not isinstance(tree, ast.FunctionDef) or line != code.co_firstlineno or not _is_of(tree, code):
        raise ProgramError(
            f"{place}: {title} is no longer there: the file has changed since it was imported; do so anew"
        )
    return Definition(tree, code.co_filename, line)


def _is_of(tree: ast.FunctionDef, code: Any) -> bool:
    """Whether the text has the name and the parameters of what was compiled, where `__x` is called `_Class__x`."""
    written = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
    own = code.co_varnames[: code.co_argcount]
    return tree.name == code.co_name and len(own) == len(written) and all(map(str.endswith, own, written))
