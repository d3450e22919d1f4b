"""Daemons that stand in for missing hardware. They compute on the CPU, and each stage waits until a given time has
passed. Waiting leaves the core free for others, as a real device would."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from dgraph.agents.daemon import BlockCall
from dgraph.agents.local_daemon import LocalDaemon
from dgraph.devices.probe import CPU


@dataclass(frozen=True)
class StandIn:
    """A kind of daemon for `daemons=`: seconds per edge to `download`, `compute` and `upload`, and per `call`."""

    download: float = 0.0
    compute: float = 0.0
    upload: float = 0.0
    call: float = 0.0
    device = CPU

    def start(self, threads: int) -> StandInDaemon:
        return StandInDaemon(self, threads)


class StandInDaemon(LocalDaemon):
    """A daemon on the CPU whose stages take at least the times of its kind."""

    def __init__(self, kind: StandIn, threads: int = 1):
        super().__init__(threads)
        self.kind = kind

    def download(self, table: str, call: BlockCall) -> None:
        time.sleep(self.kind.download * call.edges)

    def compute(self, table: str, call: BlockCall) -> Any:
        end = time.perf_counter() + self.kind.call + self.kind.compute * call.edges
        answer = super().compute(table, call)
        time.sleep(max(0.0, end - time.perf_counter()))
        return answer

    def upload(self, table: str, call: BlockCall) -> None:
        time.sleep(self.kind.upload * call.edges)
