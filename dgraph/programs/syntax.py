"""The Python code that the functions of a program may contain, and pieces of their syntax trees."""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

BUILTINS = ("min", "max", "abs", "round", "int", "float", "bool", "range")
MATH = (
    *("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "pow", "hypot", "floor", "ceil", "fabs"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("copysign", "isnan", "isinf", "isfinite", "erf", "erfc", "gamma", "lgamma", "degrees", "radians"),
)
ALLOWED = (
    "numbers; + - * / // % ** and comparisons; and, or, not; if, for ... in range(...), while; assignments; min max "
    "abs round int float bool; math.*; dot(a, b) and total(...) of vectors; and your own plain functions of these"
)
STATEMENTS = (
    *(ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Break),
    *(ast.Continue, ast.Expr),
)
EXPRESSIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant, ast.Tuple),
    *(ast.Attribute, ast.Subscript),
)
PIECES = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context, ast.arguments, ast.arg)
EXACT = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift},
}
IN_PLACE = {  # alternatives to functions of NumPy
    **{"minimum": "min", "maximum": "max", "where": "`a if condition else b`", "power": "**", "square": "**"},
    **{"absolute": "abs", "rint": "round", "mod": "%", "remainder": "%", "logical_not": "not"},
}
INFINITE = tuple(f"float('{sign}{word}')" for sign in ("", "+", "-") for word in ("inf", "infinity", "nan"))  # as text
SUM_NAME = "over_components_"
KERNEL_NAMES = ("math", "bool", "uint8", "int32", "int64", "float32", "float64")  # names with a meaning in kernel text


def dot(a: Any, b: Any) -> Any:
    """The inner product of two vector fields, in functions of a program.

    Parameters
    ----------
    a, b : vectors
        Two parameters of the function that are vectors.

    Returns
    -------
    int or float
        The sum of the products of their components.

    Raises
    ------
    ProgramError
        If `a` or `b` is not a vector. The error is raised when the program is compiled.

    Examples
    --------
    >>> class Lengths(dg.VertexProgram):
    ...     kind = "synchronous"
    ...     place = dg.State(float, start=2.0, shape=3)
    ...     length = dg.State(float)
    ...     merge = dg.SUM
    ...     def send(place):
    ...         return place
    ...     def apply(place, length, message):
    ...         return place, dg.dot(place, place) ** 0.5
    >>> G = dg.Graph.from_edges({"src": [0], "dst": [1]})
    >>> dg.run(G, Lengths()).compute()["length"].round(2).tolist()
    [3.46, 3.46]
    """
    return sum(x * y for x, y in zip(a.whole, b.whole, strict=True))


def total(*what: Any) -> Any:
    """A sum over the components of vectors, in functions of a program.

    Parameters
    ----------
    *what : function and vectors
        A vector, to sum its components; or a plain function of yours and one or more vectors, to sum what it returns
        for each component. The vectors are parameters of the calling function, with the values that it was given.

    Returns
    -------
    int or float
        The sum.

    Raises
    ------
    ProgramError
        If a vector is something else. The error is raised when the program is compiled.

    Examples
    --------
    >>> def differs(a, b):
    ...     return 1 if a != b else 0
    >>> class Changes(dg.VertexProgram):
    ...     kind = "synchronous"
    ...     marks = dg.State("uint8", start=1, shape=4)
    ...     merge = dg.MAX
    ...     def send(marks):
    ...         return marks
    ...     def apply(marks, message, component):
    ...         return max(marks, message) + component
    ...     def stop(round):
    ...         return round == 1
    ...     @dg.Result(int)
    ...     def changed(marks, marks_before):
    ...         return dg.total(differs, marks, marks_before)
    ...     @dg.Result(int)
    ...     def sum_of_all(marks):
    ...         return dg.total(marks)
    >>> G = dg.Graph.from_edges({"src": [0], "dst": [1]})
    >>> dg.run(G, Changes()).compute()
       vertex  changed  sum_of_all
    0       0        3          10
    1       1        3          10
    """
    function, vectors = (what[0], what[1:]) if callable(what[0]) else (lambda x: x, what)
    return sum(function(*values) for values in zip(*(one.whole for one in vectors), strict=True))


class WholeComponent(int):
    """One component of a vector of whole numbers, with the `whole` vector for `dot` and `total`."""

    whole: Sequence


class RealComponent(float):
    """The same of a vector of floats."""

    whole: Sequence


def component_of_vector(whole: Sequence, c: int) -> WholeComponent | RealComponent:
    """What functions of a program take for a component outside kernels. The numbers in `whole` are those of Python."""
    component = RealComponent(whole[c]) if isinstance(whole[c], float) else WholeComponent(whole[c])
    component.whole = whole
    return component


def by_kernel_rules(value: Any) -> Any:
    """A number outside kernels for which 1 / 0 is inf, as in kernels."""
    number = value if isinstance(value, bool) else np.asarray(value)[()]
    if not hasattr(value, "whole"):
        return number
    component = type("KernelComponent", (type(number),), {})(number)
    component.whole = np.asarray(value.whole)
    return component


def local_names(tree: ast.FunctionDef) -> set[str]:
    """The local names of a function: its parameters and the names to which it assigns."""
    stored = (n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {*stored, *(argument.arg for argument in tree.args.args)}


def rename_locals(tree: ast.FunctionDef) -> None:
    """Rename local names that have another meaning in kernel text."""
    own = local_names(tree)
    taken = {name for name in own if name in KERNEL_NAMES or name.startswith(SUM_NAME)}
    renamed = {name: next(f"{name}_{i}" for i in itertools.count() if f"{name}_{i}" not in own) for name in taken}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = renamed.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = renamed.get(node.arg, node.arg)


def sum_name(place: int) -> str:
    """The name of the kernel argument that holds a sum over the components of vectors."""
    return f"{SUM_NAME}{place}"


def literal(value: bool | int | float) -> ast.expr:
    """A number as an expression. A negative number is a negation, so that `(-3) ** 2` keeps its meaning."""
    if isinstance(value, float) and math.isnan(value):
        return math_name("nan")
    if value < 0 or (isinstance(value, float) and math.copysign(1, value) < 0):
        return ast.UnaryOp(op=ast.USub(), operand=literal(-value))
    return math_name("inf") if value == math.inf else ast.Constant(value=value)


def integer_value(node: ast.expr) -> int | None:
    """The integer that an expression denotes, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = integer_value(node.operand)
        return None if value is None else -value
    whole = isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool)
    return node.value if whole else None  # type: ignore[attr-defined]


def fold_integers(node: ast.BinOp) -> ast.expr:
    """The result of an operation on two integer constants, exact as in Python; otherwise the operation itself."""
    a, b = integer_value(node.left), integer_value(node.right)
    if a is None or b is None or type(node.op) not in EXACT:
        return node
    if isinstance(node.op, ast.Pow | ast.LShift) and b > 1000:  # computing it would take forever
        return node
    try:
        return ast.copy_location(literal(EXACT[type(node.op)](a, b)), node)
    except ArithmeticError:
        return node


def math_name(name: str) -> ast.expr:
    return ast.Attribute(value=ast.Name(id="math", ctx=ast.Load()), attr=name, ctx=ast.Load())


def noun(node: ast.AST) -> str:
    """The name of a piece of syntax in errors."""
    words = {"ListComp": "a comprehension", "GeneratorExp": "a comprehension", "JoinedStr": "a string"}
    return words.get(type(node).__name__, f"`{type(node).__name__.lower()}`")


def alternatives(value: ast.expr) -> list[ast.expr]:
    return [*alternatives(value.body), *alternatives(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def find_long_integer(tree: ast.FunctionDef) -> ast.Constant | None:
    """An integer in the function that does not fit into 64 bits, if there is one."""
    below = {id(n.operand) for n in ast.walk(tree) if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and (integer_value(node) or 0) > 2**63 - (id(node) not in below):
            return node
    return None


def flaws(tree: ast.FunctionDef, of_helpers: Mapping[str, int]) -> Iterator[tuple[str, ast.expr | None, str]]:
    """Yield errors that Python would find only at run time, each as the problem, the expression, and the remedy.

    `of_helpers` says how many values each helper returns.
    """
    flow = Flow(tree)
    if flow.endless is not None:
        yield "the loop never ends", flow.endless.test, "Add a break or a return."
    if not flow.returns:
        yield "some path through the function returns nothing", None, "End every path with a return."
    if flow.unset is not None:
        yield f"{flow.unset.id!r} may have no value here", flow.unset, "Assign to it first, on every path."
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is None:
            yield "a return without a value", None, "For no message, return the merge's identity."
        if isinstance(node, ast.Tuple) and len(node.elts) == 1:
            yield "a tuple of one value", node, "Remove the comma."
    if len(arities(tree, of_helpers)) > 1:
        yield "paths return different numbers of values", None, "Return tuples of the same length."
    if (large := find_long_integer(tree)) is not None:
        yield "integers have 64 bits", large, "Write a float, such as 2.0**70."


def arities(tree: ast.FunctionDef, of_helpers: Mapping[str, int]) -> set[int]:
    """The numbers of values that the paths of the function return."""

    def values(node: ast.expr | None) -> set[int]:
        if isinstance(node, ast.IfExp):
            return values(node.body) | values(node.orelse)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return {of_helpers.get(node.func.id, 1)}
        return {len(node.elts)} if isinstance(node, ast.Tuple) else {1}

    return set().union(*(values(node.value) for node in ast.walk(tree) if isinstance(node, ast.Return)))


class Flow:
    """The paths through a function. Finds names that are read before they are assigned, and endless loops."""

    def __init__(self, tree: ast.FunctionDef):
        self.own, self.breaks = local_names(tree), list[list[set[str]]]()
        self.unset: ast.Name | None = None
        self.endless: ast.While | None = None
        self.returns = self.after(tree.body, {argument.arg for argument in tree.args.args}) is None

    def after(self, body: list[ast.stmt], known: set[str]) -> set[str] | None:
        """The names that have a value after the statements, or None if the end is never reached."""
        for statement in body:
            after = self.step(statement, known)
            if after is None:
                return None
            known = after
        return known

    def step(self, statement: ast.stmt, known: set[str]) -> set[str] | None:
        if isinstance(statement, ast.If):
            self.read(statement.test, known)
            branches = [self.after(branch, known) for branch in (statement.body, statement.orelse)]
            reached = [names for names in branches if names is not None]
            return set.intersection(*reached) if reached else None
        if isinstance(statement, ast.For | ast.While):
            return self.loop(statement, known)
        self.read(statement, known)
        if isinstance(statement, ast.Break):
            self.breaks[-1].append(known)
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            return None
        stored = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return known | stored

    def loop(self, loop: ast.For | ast.While, known: set[str]) -> set[str] | None:
        self.read(loop.iter if isinstance(loop, ast.For) else loop.test, known)
        target = {loop.target.id} if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) else set()
        self.breaks.append([])
        self.after(loop.body, known | target)
        left = self.breaks.pop()
        if isinstance(loop, ast.For) or not (isinstance(loop.test, ast.Constant) and loop.test.value):
            return known  # the loop may not run at all
        if not left and not any(isinstance(node, ast.Return) for node in ast.walk(loop)):
            self.endless = self.endless or loop
        return set.intersection(*left) if left else None

    def read(self, node: ast.AST, known: set[str]) -> None:
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.id in self.own - known:
                self.unset = self.unset or name
