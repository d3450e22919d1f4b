"""Where searches write what they have tried: a line of JSON each, which says on which code."""

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def add(path: str | None, row: dict[str, Any]) -> str:
    """The line of a row, which is added to a file, if one is named."""
    line = json.dumps({**row, "code": code()})
    if path:
        with Path(path).open("a") as file:
            file.write(line + "\n")
    return line


def rows(path: str | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()] if path and Path(path).exists() else []


def code() -> str:
    """The first digits of what Git calls the folder dgraph/ (`git rev-parse HEAD:dgraph`); a + if files differ."""
    try:
        tree = _git("rev-parse", "--short=10", "HEAD:dgraph")
        return tree + ("+" if _git("status", "--porcelain", "dgraph") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
