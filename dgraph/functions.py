"""A program's function as text: where it was written, what it reads, and whether every device can run it.

The text for kernels is free of comments, annotations and outer names (constants become literals), so that it stands
alone in a generated file and its hash is that of its meaning.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import hashlib
import inspect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from dgraph.errors import ProgramError
from dgraph.syntax import (
    ALLOWED,
    BUILTINS,
    EXPRESSIONS,
    IN_PLACE,
    MATH,
    PIECES,
    STATEMENTS,
    alternatives,
    arities,
    dot_name,
    flaws,
    folded,
    literal,
    math_name,
    names_within,
    noun,
    number,
    rename_within,
)


def dot(a: Any, b: Any) -> Any:
    """The inner product of two vector fields. Outside kernels a component carries its `whole` vector."""
    return sum(x * y for x, y in zip(a.whole, b.whole, strict=True))


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a program, read and checked."""

    python: Callable
    title: str  # "send of ShortestPaths", for messages
    parameters: tuple[str, ...]
    tree: ast.FunctionDef  # resolved: no outer names
    file: str
    line: int
    arity: int  # how many values it returns
    helpers: dict[str, Function] = field(default_factory=dict)
    dots: tuple[tuple[str, str], ...] = ()  # the products of vectors it takes; each an argument in the kernel text
    read: dict[tuple[str, ...], Any] = field(default_factory=dict)  # outer names, of attributes two, and their values

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def stale(self) -> bool:
        """Whether something that it was made of is another now: a constant, or a helper."""
        outer = _outer(self.python)
        now = {(name, *of): getattr(outer.get(name), of[0], None) if of else outer.get(name) for name, *of in self.read}
        changed = (type(now[path]) is not type(value) or now[path] != value for path, value in self.read.items())
        return any(changed) or any(helper.stale for helper in self.helpers.values())

    @functools.cached_property
    def own_name(self) -> str:
        """Its name in kernels if it is a helper: unlike all names there, and unlike other helpers'."""
        return f"{self.name}_{hashlib.sha256(self.text(self.name).encode()).hexdigest()[:8]}"

    def text(self, name: str, casts: tuple[str, ...] = ()) -> str:
        """The function as kernel text, under another name, each returned value cast to its dtype."""
        try:
            tree = copy.deepcopy(self.tree)
        except RecursionError:
            self.refuse("too much is nested in one expression", remedy="Take several statements.")
        tree.name = name
        for node in ast.walk(tree):
            if isinstance(node, ast.Return) and node.value is not None and casts:
                node.value = self._cast(node.value, casts)
        return ast.unparse(ast.fix_missing_locations(tree))

    def _cast(self, value: ast.expr, casts: tuple[str, ...]) -> ast.expr:
        """A returned value cast to its dtype; of a tuple, each to its own."""
        if isinstance(value, ast.Tuple):
            return ast.Tuple([self._cast(v, (c,)) for v, c in zip(value.elts, casts, strict=True)], ctx=ast.Load())
        if isinstance(value, ast.IfExp) and len(casts) > 1:
            return ast.IfExp(
                test=value.test, body=self._cast(value.body, casts), orelse=self._cast(value.orelse, casts)
            )
        for one in alternatives(value):
            if ast.unparse(one) in ("math.inf", "-math.inf", "math.nan") and "float" not in casts[0]:
                remedy = "Declare a float; or say dgraph.UNREACHED for no path, dgraph.NONE for no vertex."
                self.refuse(f"it is declared {casts[0]}, which has no infinity", one, remedy)
        return ast.Call(func=ast.Name(id=casts[0], ctx=ast.Load()), args=[value], keywords=[])

    def statement(self, line: int) -> ast.stmt:
        """The user's own statement at a line of `text`."""
        written = ast.parse(self.text(self.name))
        ours = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        theirs = [node for node in ast.walk(written.body[0]) if isinstance(node, ast.stmt)]
        lines = {there.lineno: here for here, there in zip(ours, theirs, strict=True)}
        return lines.get(line, self.tree)

    def refuse(self, problem: str, node: ast.AST | None = None, remedy: str = f"Allowed are {ALLOWED}.") -> NoReturn:
        """Raise a ProgramError with the place of `node`, and the remedy."""
        raise ProgramError(f"{self.place(node)}: {problem}. {remedy}")

    def place(self, node: ast.AST | None = None) -> str:
        """File, line and expression."""
        line = self.line + (getattr(node, "lineno", 1) - 1 if node is not None else 0)
        expression = ""
        if node is not None and not isinstance(node, ast.FunctionDef):
            expression = f": `{ast.unparse(node).splitlines()[0]}`"
        return f"{self.file}, line {line}, in {self.title}{expression}"


@functools.cache
def read_function(python: Callable, title: str, within: tuple[Callable, ...] = ()) -> Function:
    """Read a function's source, resolve its outer names, and refuse what not every device can run. `within` are the
    functions that call it as a helper."""
    python = getattr(python, "__func__", python)  # of a static method
    if hasattr(python, "__wrapped__"):
        raise ProgramError(
            f"{title}: kernels are made of the function's own text, without its decorator; leave that out"
        )
    try:
        lines, first = inspect.getsourcelines(python)
        file = inspect.getsourcefile(python) or "?"
    except (OSError, TypeError) as error:
        raise ProgramError(
            f"{title}: the text of this function cannot be read, and kernels are made from it. Define the program in a "
            "file or in a notebook cell, with def"
        ) from error
    try:
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:
        tree = ast.Pass()
    if not isinstance(tree, ast.FunctionDef):
        raise ProgramError(f"{file}, line {first}: {title} must be written as a function with def, not as a lambda")
    names = tuple(inspect.signature(python).parameters)
    function = Function(python, title, names, tree, file, first, 0)
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.defaults or arguments.kwonlyargs:
        function.refuse("the parameters say what is read, so they are plain names", tree.args, "Write (dist, weight).")
    if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        tree.body = tree.body[1:] or [ast.Pass(lineno=tree.lineno, col_offset=0)]
    tree.decorator_list, tree.returns = [], None
    for argument in arguments.args:
        argument.annotation = None
    rename_within(tree)
    resolver = _Resolver(function, (*within, python))
    tree.body = [resolver.visit(statement) for statement in tree.body]
    for problem, node, remedy in flaws(tree):
        function.refuse(problem, node, remedy)
    arguments.args += [ast.arg(arg=dot_name(i)) for i in range(len(resolver.dots))]
    dots, (arity,) = tuple(resolver.dots), arities(tree)
    return Function(python, title, names, tree, file, first, arity, resolver.helpers, dots, resolver.read)


def _outer(python: Callable) -> dict[str, Any]:
    """What a function reads that is defined elsewhere, by name."""
    closure = inspect.getclosurevars(python)
    return {**closure.globals, **closure.nonlocals}


class _Resolver(ast.NodeTransformer):
    """Turns outer names into literals, `math.` names and helper functions; refuses everything not admitted."""

    def __init__(self, function: Function, within: tuple[Callable, ...]):
        self.function, self.within = function, within  # the last of them is the function itself
        self.outer, self.read = _outer(function.python), dict[tuple[str, ...], Any]()
        self.local = names_within(function.tree)
        written = (argument.arg for argument in function.tree.args.args)
        self.parameters = dict(zip(written, function.parameters, strict=True))
        self.helpers: dict[str, Function] = {}
        self.dots: list[tuple[str, str]] = []

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, (*STATEMENTS, *EXPRESSIONS, *PIECES, ast.Attribute)):
            self.function.refuse(f"{noun(node)} cannot run on every device", node)
        return super().visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            self.function.refuse("an annotation alone does nothing", node, "Leave it out.")
        assign = ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value))
        return ast.copy_location(assign, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Numbers made of numbers are made now; a whole number has no negative powers, but floats have."""
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        power = number(node.right)
        if isinstance(node.op, ast.Pow) and power is not None and power < 0 and number(node.left) is None:
            node.left = ast.Call(func=ast.Name(id="float64", ctx=ast.Load()), args=[node.left], keywords=[])
        return folded(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.value is None:
            self.function.refuse("None is no number", node, "Say what the merge's identity is, or NONE.")
        if not isinstance(node.value, bool | int | float):
            self.function.refuse(f"a {type(node.value).__name__} is no number", node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.local or isinstance(node.ctx, ast.Store):
            return node
        if node.id not in self.outer:
            if node.id in BUILTINS:
                return node
            if hasattr(builtins, node.id):
                self.function.refuse(f"{node.id!r} cannot run on every device", node)
            known = ", ".join(self.function.parameters) or "nothing"
            remedy = f"This function reads {known}: make it a parameter, too, or define it outside of the class."
            self.function.refuse(f"{node.id!r} is not known here", node, remedy)
        self.read[(node.id,)] = self.outer[node.id]
        return self.value(self.outer[node.id], node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = self.outer.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if owner is None or node.value.id in self.local:  # type: ignore[attr-defined]
            self.function.refuse("numbers have no attributes, only what is defined outside", node)
        if not hasattr(owner, node.attr):
            self.function.refuse(f"there is no {node.attr!r}", node, "It is read once, when kernels are made.")
        self.read[node.value.id, node.attr] = getattr(owner, node.attr)  # type: ignore[attr-defined]
        return self.value(getattr(owner, node.attr), node)

    def value(self, value: Any, node: ast.expr) -> ast.AST:
        """An outer value as an expression that needs no outer name."""
        if isinstance(value, np.bool_ | np.number):
            value = value.item()
        if isinstance(value, bool | int | float):  # or of an enumeration
            exact = bool if isinstance(value, bool) else int if isinstance(value, int) else float
            return ast.copy_location(literal(exact(value)), node)
        name = getattr(value, "__name__", "")
        if name in MATH and getattr(math, name) is value:
            return ast.copy_location(math_name(name), node)
        if isinstance(value, np.ufunc) or str(getattr(value, "__module__", "")).startswith("numpy"):
            remedy = (
                f"Take {IN_PLACE.get(name) or (f'math.{name}' if name in MATH else 'numbers of Python, and math.*')}."
            )
            self.function.refuse("a NumPy function cannot run on every device", node, remedy)
        if inspect.isfunction(value):
            if value in self.within:
                self.function.refuse("a function that calls itself cannot run on every device", node, "Take a loop.")
            helper = read_function(value, f"{name}, a helper of {self.function.title}", self.within)
            self.helpers[helper.own_name] = helper
            return ast.copy_location(ast.Name(id=helper.own_name, ctx=ast.Load()), node)
        if getattr(value, "__module__", "") == "math":
            self.function.refuse(f"{name!r} cannot run on every device", node, f"Of math there are {', '.join(MATH)}.")
        problem = (
            f"{name!r} cannot run on every device" if callable(value) else f"a {type(value).__name__} is no number"
        )
        return self.function.refuse(problem, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            self.function.refuse("arguments by keyword are not admitted", node)
        target = node.func
        owner = target.value if isinstance(target, ast.Attribute) else target
        called = self.outer.get(owner.id) if isinstance(owner, ast.Name) and owner.id not in self.local else None
        if (getattr(called, target.attr, None) if isinstance(target, ast.Attribute) else called) is dot:
            return self.dot(node)
        if isinstance(target, ast.Name) and target.id in self.local:
            self.function.refuse("a value cannot be called", node)
        if isinstance(target, ast.Name) and target.id == "range":
            self.function.refuse("range belongs into a for loop", node)
        return self.generic_visit(node)

    def dot(self, node: ast.Call) -> ast.AST:
        pair = tuple(self.parameters.get(a.id, "") for a in node.args if isinstance(a, ast.Name))
        if len(node.args) != 2 or len(pair) != 2 or "" in pair:
            self.function.refuse("dot takes two vectors among the parameters", node)
        if pair not in self.dots:
            self.dots.append(pair)
        return ast.copy_location(ast.Name(id=dot_name(self.dots.index(pair)), ctx=ast.Load()), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        call = node.iter
        named_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        if not named_range or not isinstance(node.target, ast.Name) or node.orelse:
            self.function.refuse("a for loop runs over range(...)", node.iter)
        call.args = [self.visit(argument) for argument in call.args]  # type: ignore[attr-defined]
        node.body = [self.visit(statement) for statement in node.body]
        return node
