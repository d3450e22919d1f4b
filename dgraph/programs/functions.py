"""A program's function as text, with its location in the source, what it reads, and a check that any device can run it.

The kernel text has no comments, annotations or outer names (constants become literals), so that it is complete in a
generated file and its hash depends only on its meaning.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from dgraph.errors import ProgramError
from dgraph.programs.definition import definition_of
from dgraph.programs.resolver import Resolver, outer_names
from dgraph.programs.syntax import ALLOWED, alternatives, arities, dot_name, flaws, rename_locals


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a program, read and checked."""

    python: Callable
    title: str  # the name in errors, such as "send of ShortestPaths"
    parameters: tuple[str, ...]
    tree: ast.FunctionDef  # without outer names
    file: str
    line: int
    arity: int = 1  # number of returned values
    helpers: dict[str, Function] = field(default_factory=dict)
    dots: tuple[
        tuple[str, str], ...
    ] = ()  # pairs of vectors passed to dot(); each product is an argument of the kernel text
    read: dict[tuple[str, ...], Any] = field(default_factory=dict)  # outer names (two for an attribute) -> values

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def stale(self) -> bool:
        """Whether a constant or helper that the function uses has changed since it was read."""
        outer = outer_names(self.python)
        now = {(name, *of): getattr(outer.get(name), of[0], None) if of else outer.get(name) for name, *of in self.read}
        changed = (type(now[path]) is not type(value) or now[path] != value for path, value in self.read.items())
        return any(changed) or any(helper.stale for helper in self.helpers.values())

    @functools.cached_property
    def own_name(self) -> str:
        """The unique name of the function in kernels, if it is a helper."""
        return f"{self.name}_{hashlib.sha256(self.text(self.name).encode()).hexdigest()[:8]}"

    def text(self, name: str, casts: tuple[str, ...] = ()) -> str:
        """The function as kernel text under another name, with each returned value cast to its dtype."""
        try:
            tree = copy.deepcopy(self.tree)
        except RecursionError:
            self.refuse("an expression is nested too deeply", remedy="Split it into several statements.")
        tree.name = name
        for node in ast.walk(tree):
            if isinstance(node, ast.Return) and node.value is not None and casts:
                node.value = self._cast(node.value, casts)
        return ast.unparse(ast.fix_missing_locations(tree))

    def _cast(self, value: ast.expr, casts: tuple[str, ...]) -> ast.expr:
        """A returned value cast to its dtype. The values of a tuple have their own dtypes."""
        if isinstance(value, ast.Tuple):
            return ast.Tuple([self._cast(v, (c,)) for v, c in zip(value.elts, casts, strict=True)], ctx=ast.Load())
        if isinstance(value, ast.IfExp) and len(casts) > 1:
            body, orelse = (self._cast(one, casts) for one in (value.body, value.orelse))
            return ast.IfExp(test=value.test, body=body, orelse=orelse)
        if len(casts) > 1:
            self.refuse("the values of a helper cannot be returned directly", value, "Write a, b = ...; return a, b.")
        for one in alternatives(value):
            if ast.unparse(one) in ("math.inf", "-math.inf", "math.nan") and "float" not in casts[0]:
                remedy = "Declare a float, or use dgraph.UNREACHED for no path and dgraph.NONE for no vertex."
                self.refuse(f"it is declared as {casts[0]}, which has no infinity or NaN", one, remedy)
        return ast.Call(func=ast.Name(id=casts[0], ctx=ast.Load()), args=[value], keywords=[])

    def statement(self, line: int) -> ast.stmt:
        """The user's own statement at a line of `text`."""
        written = ast.parse(self.text(self.name))
        ours = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        theirs = [node for node in ast.walk(written.body[0]) if isinstance(node, ast.stmt)]
        lines = {in_text.lineno: own for own, in_text in zip(ours, theirs, strict=True)}
        return lines.get(line, self.tree)

    def refuse(self, problem: str, node: ast.AST | None = None, remedy: str = f"Allowed: {ALLOWED}.") -> NoReturn:
        """Raise a ProgramError with the place of `node` and the remedy."""
        raise ProgramError(f"{self.place(node)}: {problem}. {remedy}")

    def place(self, node: ast.AST | None = None) -> str:
        """The file, line, function and expression, for errors."""
        line = self.line + (getattr(node, "lineno", 1) - 1 if node is not None else 0)
        expression = ""
        if node is not None and not isinstance(node, ast.FunctionDef):
            expression = f": `{ast.unparse(node).splitlines()[0]}`"
        return f"{self.file}, line {line}, in {self.title}{expression}"


@functools.lru_cache(maxsize=1024)  # classes may be created in a loop
def read_function(python: Callable, title: str, within: tuple[Callable, ...] = ()) -> Function:
    """Read a function's source, resolve its outer names, and reject code that cannot run on every device.

    `within` lists the functions that call it as a helper.
    """
    python = getattr(python, "__func__", python)  # the function of a static method
    definition = definition_of(python, title)
    tree, arguments, names = definition.tree, definition.tree.args, tuple(inspect.signature(python).parameters)
    function = Function(python, title, names, tree, definition.file, definition.line)
    if arguments.vararg or arguments.kwarg or arguments.defaults or arguments.kwonlyargs or arguments.posonlyargs:
        remedy = f"Write ({', '.join(names)})."
        function.refuse("parameters must be plain names, without defaults, * or /", arguments, remedy)
    if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        tree.body = tree.body[1:] or [ast.Pass(lineno=tree.lineno, col_offset=0)]
    tree.decorator_list, tree.returns = [], None
    for argument in arguments.args:
        argument.annotation = None
    rename_locals(tree)
    resolver = Resolver(function, (*within, python), read_function)
    tree.body = [resolver.visit(statement) for statement in tree.body]
    of_helpers = {name: helper.arity for name, helper in resolver.helpers.items()}
    for problem, node, remedy in flaws(tree, of_helpers):
        function.refuse(problem, node, remedy)
    arguments.args += [ast.arg(arg=dot_name(i)) for i in range(len(resolver.dots))]
    (arity,), dots = arities(tree, of_helpers), tuple(resolver.dots)
    return replace(function, arity=arity, helpers=resolver.helpers, dots=dots, read=resolver.read)
