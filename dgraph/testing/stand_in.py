"""Daemons in the place of hardware that is not here: answers are computed on the CPU, and each stage then waits until
it has taken the time that was stated. Waiting leaves the core free for others, as a device does."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from dgraph.agents.daemon import BlockCall, CpuDaemon
from dgraph.agents.daemon_settings import DaemonKind


@dataclass(frozen=True)
class StandIn(DaemonKind):
    """A kind of daemon, for `daemons=`: how many seconds it takes an edge to `download`, `compute` and `upload`, and
    how many a `call` takes."""

    download: float = 0.0
    compute: float = 0.0
    upload: float = 0.0
    call: float = 0.0

    def start(self, threads: int) -> StandInDaemon:
        return StandInDaemon(self, threads)


class StandInDaemon(CpuDaemon):
    """A daemon on the CPU each stage of which takes at least as long as its kind says."""

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
