"""A long search goes on where its record ends."""

import argparse
import json

import pytest
from long_search import LongSearch


class EvenNumbers(LongSearch):
    """Odd numbers are faults."""

    COUNTS = ("numbers", "odd")
    TABLES = ("digits",)

    @classmethod
    def add_options(cls, options: argparse.ArgumentParser) -> None:
        options.add_argument("--numbers", type=int, default=5)

    def is_behind(self) -> bool:
        return self.total("numbers") < self.given.numbers

    def once(self, seed: int) -> None:
        self.counts["numbers"] += 1
        self.tables["digits"][str(seed)] += 1
        if seed % 2:
            self.counts["odd"] += 1
            self.tell(seed, " is odd")


def searched(monkeypatch, *options: str) -> int:
    monkeypatch.setattr("sys.argv", ["search", *options])
    with pytest.raises(SystemExit) as ended:
        EvenNumbers.main("numbers")
    return ended.value.code


def test_counts_add_up_over_runs_and_seeds_are_not_repeated(monkeypatch, tmp_path, capsys):
    """The first row is of an older search, which counted less."""
    record, keep = tmp_path / "record.json", tmp_path / "found.txt"
    record.write_text(json.dumps({"seeds": [0, 3], "odd": 1, "numbers": 3, "seconds": 1}) + "\n")
    options = ("--record", str(record), "--keep", str(keep))
    assert searched(monkeypatch, *options) == 1
    assert keep.read_text() == "# seed 3 is odd\n"
    assert capsys.readouterr().out.endswith("5 numbers, 2 odd\n")
    assert searched(monkeypatch, *options, "--numbers", "6", "--seed", "8") == 0
    old, new, last = map(json.loads, record.read_text().splitlines())
    assert old["seeds"] + new["seeds"] + last["seeds"] == [0, 3, 3, 5, 8, 9]
    assert new["digits"] == {"3": 1, "4": 1} and last["numbers"] == 1
    assert searched(monkeypatch, *options) == 0
    assert json.loads(record.read_text().splitlines()[-1])["seeds"] == [9, 9]


def test_a_search_ends_when_its_time_is_over(monkeypatch, capsys):
    assert searched(monkeypatch, "--seconds", "0") == 0
    assert capsys.readouterr().out.endswith("0 numbers, 0 odd\n")
