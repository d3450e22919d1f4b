"""Refuses phrases that read as translated, in code and docs, and says what to write in their place.

python tests/support/plain_english.py > the places, and exit status 1, if there are any

`translated.tsv` lists the phrases as regular expressions, each with a line of 0.9.3 in which it stood.
"""

import csv
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PLACES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "dgraph", "benchmarks", "examples", "changelog.d")


class Phrase(NamedTuple):
    pattern: str
    better: str
    place: str
    line: str


def phrases() -> list[Phrase]:
    with Path(__file__).with_name("translated.tsv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [Phrase(*row) for row in rows[1:]]


def found_in(text: str) -> list[tuple[int, str, str]]:
    """Each phrase in a text: the number of its line, the phrase, and what to write in its place."""
    lines = text.splitlines()
    return [
        (number, match[0], phrase.better)
        for phrase in phrases()
        for number, line in enumerate(lines, 1)
        if (match := re.search(phrase.pattern, line))
    ]


def places() -> list[str]:
    """Each phrase that is found: file, line, what to write in its place."""
    found = []
    for place in PLACES:
        path = ROOT / place
        for file in sorted(path.rglob("*") if path.is_dir() else [path]):
            if file.suffix in (".py", ".md", ".toml"):
                name = file.relative_to(ROOT)
                found += [
                    f"{name}:{line}: {said!r}; write: {better}" for line, said, better in found_in(file.read_text())
                ]
    return found


if __name__ == "__main__":
    found = places()
    sys.stdout.writelines(f"{one}\n" for one in found)
    sys.exit(bool(found))
