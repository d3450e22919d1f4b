"""Runs that are struck end with the right answer, or a clear error, and leave nothing. `make strikes` tries many more,
also those that kill."""

import argparse
import random
import time

import pytest
import strikes
from search_strikes import StrikeSearch
from struck_runs import StruckRun

from dgraph.errors import RunError


@pytest.fixture
def search(client, tmp_path, monkeypatch):
    """On the cluster that tests share, which these strikes leave as it was; each comes when its run begins."""
    monkeypatch.setattr(strikes, "PAUSE", 0.2)
    found = StrikeSearch(argparse.Namespace(record=None, seed=7, keep=None))
    found.client, found.hosts, found.room, found.workers, found.of_frames = client, None, tmp_path, 2, set()
    found.lasted = dict.fromkeys(("gas", "dg.bridges"), 0.0)
    return found


@pytest.mark.parametrize("during", ["gas", "dg.bridges"])
def test_a_run_whose_worker_stops_for_a_while_gives_the_right_answer(search, during):
    """A client is closed by `test_closed_clients`, at set moments: at others, Dask may leave on its workers what the
    client was about to send, for which nobody asks any more."""
    run = StruckRun(during, seed=7, frame=0, parts=2)
    run.prepare()
    assert search.struck(during, "stop", run, random.Random(7)) == "right"


class WrongRun(StruckRun):
    def answer(self, client, room):
        raise AssertionError("2 is not 3")


class FailingRun(StruckRun):
    def answer(self, client, room):
        raise RunError("it is Monday")


class UntidyRun(StruckRun):
    def answer(self, client, room):
        (room / "spare.piece").touch()


class HoldingRun(StruckRun):
    def answer(self, client, room):
        kept.append(client.submit(int, pure=False))


class EndingRun(StruckRun):
    """It ends in a clear error the first time, and has something on the cluster at that moment."""

    def answer(self, client, room):
        mine = client.submit(int, pure=False)
        assert mine.result() == 0
        if not kept:
            kept.append("once")
            time.sleep(0.3)
            raise RunError("the graph has no workers")


kept = []


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (WrongRun, "2 is not 3"),
        (FailingRun, "it is Monday"),
        (UntidyRun, r"files are left: \['spare.piece'\]"),
        (HoldingRun, "of a run that is over there is left: .*int-"),
    ],
)
def test_what_a_run_does_wrong_is_found(search, monkeypatch, kind, told):
    monkeypatch.setattr("leftovers.SOON", 0.3)
    try:
        with pytest.raises((AssertionError, RunError), match=told):
            search.struck("gas", "stop", kind("gas", 7, 0, 2), random.Random(7))
    finally:
        kept.clear()


def test_what_a_run_had_when_it_ended_in_an_error_is_not_kept_by_the_search(search, monkeypatch):
    monkeypatch.setattr("leftovers.SOON", 3)
    try:
        assert search.struck("gas", "stop", EndingRun("gas", 7, 0, 2), random.Random(7)) == "clear errors"
    finally:
        kept.clear()


def test_a_run_that_ends_too_late_is_found(search, monkeypatch):
    monkeypatch.setattr("search_strikes.SOON", -1)
    monkeypatch.setattr("search_strikes.Watch.TICK", 60)
    with pytest.raises(AssertionError, match="from when the loss could be known"):
        search.struck("gas", "stop", StruckRun("gas", 7, 0, 2), random.Random(7))
