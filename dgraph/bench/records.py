"""Results as JSON Lines: the suite with machine and versions, then a line per trial, then a line per target."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dgraph.bench.machine import machine, versions
from dgraph.bench.suite import Suite
from dgraph.errors import FileError

NAME = "trials.jsonl"  # the file's name in the folder of a run


def heading(suite: Suite) -> dict[str, Any]:
    """The first record: the suite, the machine, the versions and the date."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    facts = {"title": suite.title, "trials": suite.trials, "warmups": suite.warmups, "paper": suite.paper}
    return {"kind": "suite", "suite": suite.name, **facts, "machine": machine(), "versions": versions(), "date": when}


@contextmanager
def record_writer(folder: Path | None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that writes a record to the folder, if there is one. It writes each record immediately, because a
    suite may fail after hours."""
    if folder is None:
        yield lambda record: None
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / NAME).open("w", encoding="utf-8", buffering=1) as file:

        def keep(record: Mapping[str, Any]) -> None:
            file.write(json.dumps(record, default=str) + "\n")

        yield keep


def read(path: str) -> list[dict[str, Any]]:
    """The records of a run, read from its folder or from the file itself."""
    file = Path(path) / NAME if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise FileError("no results found", path=file, remedy="`dgraph bench SUITE -o FOLDER` writes them")
    records = []
    for number, text in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            record = json.loads(text)
        except json.JSONDecodeError as error:
            raise FileError(f"is not JSON: {error}", path=file, line=number) from error
        if not isinstance(record, dict) or "kind" not in record:
            raise FileError("is not a record of a run", path=file, line=number, remedy="pass output of `dgraph bench`")
        records.append(record)
    return records
