"""The lines of code of each folder of dgraph/: no blank lines, comments or docstrings.

python tests/support/code_lines.py > the table
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "dgraph"
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def by_room() -> Counter[str]:
    rooms: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        rooms[path.relative_to(PACKAGE).parts[0]] += code_lines(path.read_text())
    return rooms


if __name__ == "__main__":
    rooms = by_room()
    sys.stdout.writelines(f"{count:6,} {room}\n" for room, count in rooms.most_common())
    sys.stdout.write(f"{rooms.total():6,} in all\n")
