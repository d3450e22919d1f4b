"""The source of a function, from which kernels are generated: its syntax tree and its place in a file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from dgraph.errors import ProgramError


@dataclass(frozen=True)
class Definition:
    """The source of a function."""

    tree: ast.FunctionDef
    file: str
    line: int


def definition_of(python: Any, title: str) -> Definition:
    """The source of a function, called `title` in errors. A function without readable source is an error."""
    if hasattr(python, "__wrapped__"):
        raise ProgramError(
            f"{title}: kernels are generated from a function without its decorator; remove the decorator"
        )
    if not inspect.isfunction(python):
        raise ProgramError(f"{title}: expected a function written with def, got {python!r}")
    code = python.__code__
    place = f"{code.co_filename}, line {code.co_firstlineno}"
    if code.co_name == "<lambda>" or inspect.iscoroutinefunction(python):
        raise ProgramError(f"{place}: {title} must be a function written with def, not a lambda or async")
    try:
        lines, line = inspect.getsourcelines(python)
    except OSError as error:
        raise ProgramError(
            f"{title}: cannot read the source of this function, from which kernels are generated. Define the program "
            "in a file or a notebook cell, with def"
        ) from error
    try:
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:
        tree = ast.Pass()
    if not isinstance(tree, ast.FunctionDef) or line != code.co_firstlineno or not _matches_code(tree, code):
        raise ProgramError(f"{place}: cannot find {title}: the file has changed since it was imported; import it again")
    return Definition(tree, code.co_filename, line)


def _matches_code(tree: ast.FunctionDef, code: Any) -> bool:
    """Whether the source has the name and the parameters of the compiled code, where `__x` is `_Class__x`."""
    written = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
    own = code.co_varnames[: code.co_argcount]
    return tree.name == code.co_name and len(own) == len(written) and all(map(str.endswith, own, written))
