"""Replaces the outer names in a program's function, so that its text is self-contained."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.phrases.phrases import format_count
from dgraph.programs.syntax import (
    BUILTINS,
    EXPRESSIONS,
    IN_PLACE,
    INFINITE,
    MATH,
    PIECES,
    STATEMENTS,
    dot,
    dot_name,
    fold_integers,
    integer_value,
    literal,
    local_names,
    math_name,
    noun,
)

if TYPE_CHECKING:
    from dgraph.programs.functions import Function


def outer_names(python: Callable) -> dict[str, Any]:
    """The global and nonlocal names that a function reads, with their values."""
    closure = inspect.getclosurevars(python)
    return {**closure.globals, **closure.nonlocals}


class Resolver(ast.NodeTransformer):
    """Turns outer names into literals, `math.` names and helper functions, and rejects code that is not allowed."""

    def __init__(self, function: Function, within: tuple[Callable, ...], read_helper: Callable[..., Function]):
        self.function, self.read_helper = function, read_helper
        self.within = within  # this function, and those that call it as a helper
        self.outer, self.read = outer_names(function.python), dict[tuple[str, ...], Any]()
        self.local = local_names(function.tree)
        written = (argument.arg for argument in function.tree.args.args)
        self.parameters = dict(zip(written, function.parameters, strict=True))
        self.helpers: dict[str, Function] = {}
        self.dots: list[tuple[str, str]] = []

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, (*STATEMENTS, *EXPRESSIONS, *PIECES)):
            self.function.refuse(f"{noun(node)} cannot run on every device", node)
        return super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.visit(node.value)
        return self.function.refuse("its value is not used", node, "Return it or assign it to a name.")

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        remedy = "Use a VertexColumn for values of vertices, an EdgeColumn for those of edges, or a vector."
        return self.function.refuse("an index cannot run on every device", node, remedy)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        before = ast.Name(id=node.target.id, ctx=ast.Load()) if isinstance(node.target, ast.Name) else node.target
        value = ast.copy_location(ast.BinOp(left=before, op=node.op, right=node.value), node)
        return ast.copy_location(ast.Assign(targets=[self.visit(node.target)], value=self.visit(value)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            self.function.refuse("an annotation without a value does nothing", node, "Remove it.")
        assign = ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value))
        return ast.copy_location(assign, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Compute operations on constants now. Turn integers into floats before raising them to negative powers."""
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        power = integer_value(node.right)
        if isinstance(node.op, ast.Pow) and power is not None and power < 0 and integer_value(node.left) is None:
            node.left = ast.Call(func=ast.Name(id="float64", ctx=ast.Load()), args=[node.left], keywords=[])
        return fold_integers(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if any(isinstance(operation, ast.Is | ast.IsNot) for operation in node.ops):
            self.function.refuse("`is` compares objects, not numbers", node, "Write == or !=.")
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.value is None:
            self.function.refuse("None is not a number", node, "Write the merge's identity, or dgraph.NONE.")
        if not isinstance(node.value, bool | int | float):
            self.function.refuse(f"expected a number, got {type(node.value).__name__}", node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.local or isinstance(node.ctx, ast.Store):
            return node
        if node.id not in self.outer:
            if node.id in BUILTINS:
                return ast.Name(id="float64", ctx=node.ctx) if node.id == "float" else node  # Numba's takes no bool
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
            self.function.refuse("numbers have no attributes; only names from outside the program do", node)
        if not hasattr(owner, node.attr):
            self.function.refuse(
                f"{ast.unparse(node.value)!r} has no {node.attr!r}", node, "It is read once, when kernels are made."
            )
        self.read[node.value.id, node.attr] = getattr(owner, node.attr)  # type: ignore[attr-defined]
        return self.value(getattr(owner, node.attr), node)

    def value(self, value: Any, node: ast.expr) -> ast.AST:
        """An outer value as an expression without outer names."""
        if isinstance(value, np.bool_ | np.number):
            value = value.item()
        if isinstance(value, bool | int | float):  # or a member of an enumeration
            exact = bool if isinstance(value, bool) else int if isinstance(value, int) else float
            return ast.copy_location(literal(exact(value)), node)
        name = getattr(value, "__name__", "")
        if name in MATH and getattr(math, name) is value:
            return ast.copy_location(math_name(name), node)
        if isinstance(value, np.ufunc) or str(getattr(value, "__module__", "")).startswith("numpy"):
            instead = IN_PLACE.get(name) or (f"math.{name}" if name in MATH else "Python numbers and math.*")
            self.function.refuse("a NumPy function cannot run on every device", node, f"Write {instead}.")
        if inspect.isfunction(value) or hasattr(value, "__wrapped__"):
            if value in self.within:
                self.function.refuse("a recursive function cannot run on every device", node, "Write a loop.")
            helper = self.read_helper(value, f"{name}, a helper of {self.function.title}", self.within)
            self.helpers[helper.own_name] = helper
            return ast.copy_location(ast.Name(id=helper.own_name, ctx=ast.Load()), node)
        if getattr(value, "__module__", "") == "math":
            remedy = f"Available from math: {', '.join(MATH)}."
            self.function.refuse(f"{name!r} cannot run on every device", node, remedy)
        if callable(value):
            self.function.refuse(f"{name!r} cannot run on every device", node)
        return self.function.refuse(f"expected a number, got {type(value).__name__}", node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            self.function.refuse("keyword arguments are not supported", node)
        target = node.func
        owner = target.value if isinstance(target, ast.Attribute) else target
        called = self.outer.get(owner.id) if isinstance(owner, ast.Name) and owner.id not in self.local else None
        if (getattr(called, target.attr, None) if isinstance(target, ast.Attribute) else called) is dot:
            return self.dot(node)
        if isinstance(target, ast.Name) and target.id in self.local:
            self.function.refuse("a value cannot be called", node)
        if isinstance(target, ast.Name) and target.id == "range":
            self.function.refuse("range is only allowed in a for loop", node)
        if called is None and ast.unparse(target) in ("min", "max") and len(node.args) < 2:
            self.function.refuse("min and max need at least two arguments", node, "Pass the values one by one.")
        if called is None and ast.unparse(node).lower() in INFINITE:
            return ast.copy_location(literal(float(node.args[0].value)), node)  # type: ignore[attr-defined]
        function = self.visit(target)
        node.args = [self.visit(argument) for argument in node.args]
        if ast.unparse(function) in ("math.degrees", "math.radians"):  # CUDA has these for floats only
            node.args = [ast.Call(ast.Name("float64", ctx=ast.Load()), [one], []) for one in node.args]
        helper = self.helpers.get(function.id) if isinstance(function, ast.Name) else None
        if helper is not None and len(helper.parameters) != len(node.args):
            remedy = f"Its parameters: {', '.join(helper.parameters) or 'none'}."
            problem = f"expected {format_count(len(helper.parameters), 'argument')}, got {len(node.args)}"
            self.function.refuse(problem, node, remedy)
        node.func = function
        return node

    def dot(self, node: ast.Call) -> ast.AST:
        pair = tuple(self.parameters.get(a.id, "") for a in node.args if isinstance(a, ast.Name))
        if len(node.args) != 2 or len(pair) != 2 or "" in pair:
            self.function.refuse("dot needs two vectors among the parameters", node)
        if pair not in self.dots:
            self.dots.append(pair)
        return ast.copy_location(ast.Name(id=dot_name(self.dots.index(pair)), ctx=ast.Load()), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        call = node.iter
        named_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        if not named_range or not isinstance(node.target, ast.Name) or node.orelse:
            self.function.refuse("a for loop must run over range(...)", node.iter)
        call.args = [self.visit(argument) for argument in call.args]  # type: ignore[attr-defined]
        node.body = [self.visit(statement) for statement in node.body]
        return node
