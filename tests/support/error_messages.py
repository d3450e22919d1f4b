"""Prints every error and warning of dgraph with its place, to be read without the code.

python tests/support/error_messages.py > lines of `path:line  Class  message`

Expressions are shown as `{expression}`, and alternatives as `<one | other>`. A message that a helper completes, such as
`refuse(problem, node, remedy)`, is listed where the helper is called: the texts among its arguments, joined by " ; ".
"""

import ast
import os
import sys
from collections.abc import Container, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

Given = tuple[int, int, ast.expr]  # the line that assigns a value, the last line of that block, and the value
Scope = dict[str, list[Given]]  # by name; `f()` is what the function `f` returns


def messages() -> list[tuple[str, int, str, str]]:
    """File, line, class and text of all messages of the package."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((ROOT / "dgraph").rglob("*.py"))}
    classes = [node for node in trees[ROOT / "dgraph/errors.py"].body if isinstance(node, ast.ClassDef)]
    kinds = {node.name: node.name for node in classes}
    constants = [one for tree in trees.values() for one in scope_of(tree).items() if one[0].isupper()]
    shared = {name: given for name, given in constants if sum(name == other for other, _ in constants) == 1}
    shared |= {f"{node.name}()": returned(one) for node in classes for one in functions(node) if one.name == "__str__"}
    makers = {path: helpers(tree, kinds) for path, tree in trees.items()}
    found: list[tuple[str, int, str, str]] = []
    for path, tree in trees.items():
        place, known = path.relative_to(ROOT).as_posix(), kinds | {"error": "error", "type(error)": "error"}
        for near in sorted(makers, key=lambda other: len(os.path.commonpath([path, other]))):  # the nearest comes last
            known |= makers[near]
        for call, scope in calls(tree, shared):
            found += [(place, call.lineno, *said) for said in message(call, scope, known)]
    return sorted(set(found))


def calls(node: ast.AST, around: Scope) -> Iterator[tuple[ast.Call, Scope]]:
    """Each call in a tree, with the values that names have there."""
    inside = around | scope_of(node) if isinstance(node, ast.FunctionDef | ast.Module) else around
    if isinstance(node, ast.Call):
        yield node, inside
    for child in ast.iter_child_nodes(node):
        yield from calls(child, inside)


def scope_of(node: ast.AST) -> Scope:
    """What is assigned in a function, or at the top of a module and returned by its functions."""
    found: Scope = {}
    for around in [node] if isinstance(node, ast.Module) else ast.walk(node):
        blocks = [getattr(around, field, None) for field in ("body", "orelse", "finalbody")]
        for block in (block for block in blocks if isinstance(block, list)):
            for one in (one for one in block if isinstance(one, ast.Assign)):
                names = getattr(one.targets[0], "elts", one.targets)
                values = [one.value] if len(names) == 1 else getattr(one.value, "elts", ())
                for name, value in zip(names, values, strict=False):
                    found.setdefault(ast.unparse(name), []).append((one.lineno, block[-1].end_lineno, value))
    for maker in functions(node) if isinstance(node, ast.Module) else ():
        found |= dict.fromkeys((f"{maker.name}()", f"self.{maker.name}()", f"self.{maker.name}"), returned(maker))
    return {name: sorted(given, key=lambda one: one[0]) for name, given in found.items()}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def returned(function: ast.FunctionDef) -> list[Given]:
    return [(0, 0, node.value) for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]


def helpers(tree: ast.AST, kinds: Container[str]) -> dict[str, str]:
    """The functions that make an error of texts that they are given, with its class."""
    found: dict[str, str] = {}
    for function in functions(tree):
        if "refuse" in function.name or (function.returns and ast.unparse(function.returns) in kinds):
            made = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
            found.update((function.name, kind) for kind in made if kind in kinds)
    return found


def message(call: ast.Call, scope: Scope, known: dict[str, str]) -> list[tuple[str, str]]:
    """The class and the text of the error or warning that a call makes; empty if it makes none."""
    texts = [text(one, call.lineno, scope) for one in call.args]
    options = {one.arg: text(one.value, call.lineno, scope) or f"{{{ast.unparse(one.value)}}}" for one in call.keywords}
    name = ast.unparse(call.func).partition(" if ")[0]  # (WeightError if weighted else OptionError)(...)
    kind = known.get(name) or known.get(name.rpartition(".")[2], "")
    if name == "warn":
        kind, texts = ast.unparse(call.args[1]) if len(call.args) > 1 else "UserWarning", texts[:1]
    elif kind in (name, "error") and call.args:
        texts = [text(call, call.lineno, scope) or texts[0] or f"{{{ast.unparse(call.args[0])}}}"]
    said = " ; ".join(filter(None, texts))
    if kind == name == "FileError":
        said = f"{options['path']}{', line ' * ('line' in options)}{options.get('line', '')}: {said}"
    return [(kind, said + (f" ({options['remedy']})" if "remedy" in options else ""))] if kind and said else []


def text(node: ast.expr, line: int, scope: Scope) -> str | None:
    """What an expression says at a line, as far as it can be seen; None if it says nothing."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(text(one, line, scope) or "" for one in values)
        case ast.FormattedValue(value=value, conversion=conversion, format_spec=shape):
            plain = text(value, line, scope) if conversion == -1 and shape is None else None
            return plain or ast.unparse(ast.JoinedStr([node]))[2:-1]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return joined("", [left, right], line, scope)
        case ast.IfExp(body=one, orelse=other) | ast.BoolOp(op=ast.Or(), values=[one, other]):
            return joined(" | ", [one, other], line, scope)
        case ast.Name() | ast.Attribute() | ast.Call():
            name = f"{ast.unparse(node.func)}()" if isinstance(node, ast.Call) else ast.unparse(node)
            given = [one for one in scope.get(name, []) if one[0] < line]
            last = max((place for place, (_, until, _) in enumerate(given) if line <= until), default=0)
            return joined(" | ", [value for _, _, value in given[last:]], line, scope | {name: []})
    return None


def joined(mark: str, nodes: list[ast.expr], line: int, scope: Scope) -> str | None:
    """Several texts in a row, or as alternatives; None if none of them says anything."""
    texts = [text(one, line, scope) for one in nodes]
    said = mark.join(f"{{{ast.unparse(node)}}}" if one is None else one for node, one in zip(nodes, texts, strict=True))
    return None if not any(texts) else f"<{said}>" if mark and len(texts) > 1 else said


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}:{line}  {kind}  {said}\n" for path, line, kind, said in messages())
