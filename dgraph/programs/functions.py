"""A program's function as text, with its location in the source, what it reads, and a check that any device can run it.

The kernel text has no comments, annotations or outer names (constants become literals), so that it is complete in a
generated file and its hash depends only on its meaning.
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
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from dgraph.errors import ProgramError
from dgraph.phrases.phrases import format_count
from dgraph.programs.syntax import (
    ALLOWED,
    BUILTINS,
    EXPRESSIONS,
    IN_PLACE,
    INFINITE,
    MATH,
    PIECES,
    STATEMENTS,
    alternatives,
    arities,
    dot,
    flaws,
    fold_integers,
    integer_value,
    literal,
    local_names,
    math_name,
    noun,
    rename_locals,
    sum_name,
    total,
)


@dataclass(frozen=True)
class VectorSum:
    """A sum over the components of vectors, which is computed before a function is called."""

    vectors: tuple[str, ...]  # parameters of the function
    term: str  # what is summed, as the name of a function in kernels; if empty, the product of the components
    written: str = field(compare=False)  # as in the user's code

    def first(self, components: list[str]) -> str:
        """Kernel text of the sum over the first component. `total` sums in 64 bits."""
        return f"0 + {self.of(components)}" if self.term or len(components) == 1 else self.of(components)

    def of(self, components: list[str]) -> str:
        """Kernel text of what one component adds."""
        return f"{self.term}({', '.join(components)})" if self.term else " * ".join(components)


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a program, read and checked."""

    python: Callable
    title: str  # the name in errors, such as "send of ShortestPaths"
    parameters: tuple[str, ...]
    tree: ast.FunctionDef  # without outer names
    arity: int = 1  # number of returned values
    helpers: dict[str, Function] = field(default_factory=dict)
    sums: tuple[VectorSum, ...] = ()  # each is one more argument of the kernel text
    read: dict[tuple[str, ...], Any] = field(default_factory=dict)  # outer names (two for an attribute) -> values

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def only_summed(self) -> set[str]:
        """The parameters that are read only in sums over the components of vectors."""
        read = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        own = dict(zip(self.parameters, (one.arg for one in self.tree.args.args), strict=False))
        return {name for one in self.sums for name in one.vectors if own[name] not in read}

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
                remedy = "Declare a float, or use 255." if casts[0] == "uint8" else remedy
                self.refuse(f"it is declared as {casts[0]}, which has no infinity or NaN", one, remedy)
        for name in ("int64", "uint8") if casts[0] == "uint8" else casts:  # so that negative numbers wrap around
            value = ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=[value], keywords=[])
        return value

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
        code = self.python.__code__
        line = code.co_firstlineno + (getattr(node, "lineno", 1) - 1 if node is not None else 0)
        expression = ""
        if node is not None and not isinstance(node, ast.FunctionDef):
            expression = f": `{ast.unparse(node).splitlines()[0]}`"
        return f"{code.co_filename}, line {line}, in {self.title}{expression}"


@functools.lru_cache(maxsize=1024)  # classes may be created in a loop
def read_function(python: Callable, title: str, within: tuple[Callable, ...] = ()) -> Function:
    """Read a function's source, resolve its outer names, and reject code that cannot run on every device.

    `within` lists the functions that call it as a helper.
    """
    python = getattr(python, "__func__", python)  # the function of a static method
    tree, names = definition_of(python, title), tuple(inspect.signature(python).parameters)
    arguments, function = tree.args, Function(python, title, names, tree)
    if arguments.vararg or arguments.kwarg or arguments.defaults or arguments.kwonlyargs or arguments.posonlyargs:
        remedy = f"Write ({', '.join(names)})."
        function.refuse("parameters must be plain names, without defaults, * or /", arguments, remedy)
    if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        tree.body = tree.body[1:] or [ast.Pass(lineno=tree.lineno, col_offset=0)]
    tree.decorator_list, tree.returns = [], None
    for argument in arguments.args:
        argument.annotation = None
    rename_locals(tree)
    resolver = Resolver(function, (*within, python))
    tree.body = [resolver.visit(statement) for statement in tree.body]
    of_helpers = {name: helper.arity for name, helper in resolver.helpers.items()}
    for problem, node, remedy in flaws(tree, of_helpers):
        function.refuse(problem, node, remedy)
    arguments.args += [ast.arg(arg=sum_name(i)) for i in range(len(resolver.sums))]
    (arity,), sums = arities(tree, of_helpers), tuple(resolver.sums)
    return replace(function, arity=arity, helpers=resolver.helpers, sums=sums, read=resolver.read)


def definition_of(python: Any, title: str) -> ast.FunctionDef:
    """The syntax tree of a function, called `title` in errors. A function without readable source is an error."""
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
    return tree


def _matches_code(tree: ast.FunctionDef, code: Any) -> bool:
    """Whether the source has the name and the parameters of the compiled code, where `__x` is `_Class__x`."""
    written = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
    own = code.co_varnames[: code.co_argcount]
    return tree.name == code.co_name and len(own) == len(written) and all(map(str.endswith, own, written))


def outer_names(python: Callable) -> dict[str, Any]:
    """The global and nonlocal names that a function reads, with their values."""
    closure = inspect.getclosurevars(python)
    return {**closure.globals, **closure.nonlocals}


class Resolver(ast.NodeTransformer):
    """Turns outer names into literals, `math.` names and helper functions, and rejects code that is not allowed."""

    def __init__(self, function: Function, within: tuple[Callable, ...]):
        self.function = function
        self.within = within  # this function, and those that call it as a helper
        self.outer, self.read = outer_names(function.python), dict[tuple[str, ...], Any]()
        self.local = local_names(function.tree)
        nodes = (node for node in ast.walk(function.tree) if isinstance(node, ast.Name))
        self.assigned = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        written = (argument.arg for argument in function.tree.args.args)
        self.parameters = dict(zip(written, function.parameters, strict=True))
        self.helpers: dict[str, Function] = {}
        self.sums: list[VectorSum] = []

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
            helper = read_function(value, f"{name}, a helper of {self.function.title}", self.within)
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
        meant = getattr(called, target.attr, None) if isinstance(target, ast.Attribute) else called
        if meant is dot or meant is total:
            return self.sum_of_vectors(node, meant.__name__)
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

    def sum_of_vectors(self, node: ast.Call, name: str) -> ast.AST:
        """The argument that holds the sum which `dot` or `total` means."""
        written, vectors, term = ast.unparse(node), list(node.args), ""
        if len(self.within) > 1:
            self.function.refuse(f"{name} cannot be called in a helper", node, "Pass its value to the helper.")
        if name == "total" and vectors and not self._is_parameter(vectors[0]):
            term = self._summed(vectors.pop(0), len(vectors), node)
        names = tuple(self.parameters[one.id] for one in vectors if self._is_parameter(one))  # type: ignore[attr-defined]
        if assigned := [one.id for one in vectors if self._is_parameter(one) and one.id in self.assigned]:  # type: ignore[attr-defined]
            remedy = "Assign to another name."
            self.function.refuse(f"it sums {assigned[0]!r} as it was passed, but the function changes it", node, remedy)
        expected = 2 if name == "dot" else len(vectors) if term else 1
        if not 0 < len(names) == len(vectors) == expected:
            needs = "two vectors" if name == "dot" else "a vector, or a function and one or more vectors,"
            self.function.refuse(f"{name} needs {needs} among the parameters", node)
        found = VectorSum(names, term, written)
        if found not in self.sums:
            self.sums.append(found)
        return ast.copy_location(ast.Name(id=sum_name(self.sums.index(found)), ctx=ast.Load()), node)

    def _summed(self, function: ast.expr, vectors: int, node: ast.expr) -> str:
        """The name in kernels of the function whose values are summed."""
        if not isinstance(function, ast.Name | ast.Attribute):
            self.function.refuse("expected a function or a vector", function)
        name = ast.unparse(self.visit(function))
        helper = self.helpers.get(name)
        if helper is not None and vectors and (len(helper.parameters) != vectors or helper.arity != 1):
            problem = f"{helper.name} must take {format_count(vectors, 'component')} and return one number"
            self.function.refuse(problem, node, "One component of each vector is passed to it.")
        if helper is None:
            remedy = "Others can be called in a plain function of yours."
            self.function.refuse("expected a vector or a plain function of yours", function, remedy)
        return name

    def _is_parameter(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.parameters

    def visit_For(self, node: ast.For) -> ast.AST:
        call = node.iter
        named_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        if not named_range or not isinstance(node.target, ast.Name) or node.orelse:
            self.function.refuse("a for loop must run over range(...)", node.iter)
        call.args = [self.visit(argument) for argument in call.args]  # type: ignore[attr-defined]
        node.body = [self.visit(statement) for statement in node.body]
        return node
