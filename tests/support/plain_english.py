"""Refuses phrases that read as translated, in code and docs, and says what to write in their place.

python tests/support/plain_english.py > the places, and exit status 1, if there are any
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "dgraph", "benchmarks", "examples", "changelog.d")
BETTER = {
    r"cannot be had": "is not available here",
    r"exclude each other": "are mutually exclusive",
    r"is a switch\b": "must be True or False",
    r"\bis no (program|type|frame|merge|number|vertex|policy|key|name|array|graph|operation)\b": "expected X, got ...",
    r"is a probability": "must be between 0 and 1",
    r"do(es)? not go together": "are incompatible",
    r"\bis none of\b": "must be one of",
    r"where it lies": "say which worker or place holds it",
    r"at bad news": "say what went wrong",
    r"\bis no news\b": "equals the earlier state",
    r"Start so many": "Number of ...",
    r"\bare tried\b": "are tested",
    r"from an environment of yours": "in your own environment",
    r"an? \w+ of yours\b": "your own ...",
    r"\blead on\b": "say where to go next",
    r"checked without one so far": "not yet run on a GPU",
    r"in no time": "instantly",
    r"has left with values": "left the cluster while holding values",
    r"what \w+ writes there": "name the files and who cannot see them",
    r"\bof a user's\b": "the user's",
    r"\bas shall be\b|\bas they shall\b": "as intended",
}


def places() -> list[str]:
    """Each phrase that is found: file, line, what to write in its place."""
    found = []
    for place in PLACES:
        path = ROOT / place
        for file in sorted(path.rglob("*") if path.is_dir() else [path]):
            if file.suffix not in (".py", ".md", ".toml"):
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                for phrase, better in BETTER.items():
                    if match := re.search(phrase, line):
                        found.append(f"{file.relative_to(ROOT)}:{number}: {match[0]!r}; write: {better}")
    return found


if __name__ == "__main__":
    found = places()
    sys.stdout.writelines(f"{one}\n" for one in found)
    sys.exit(bool(found))
