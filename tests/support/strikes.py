"""What happens to a cluster while a run is on its way: workers are killed, restarted, retired or scaled away."""

import os
import signal
import threading
import time

import psutil

DAEMON = "dgraph.agents.own_process_daemon"
PAUSE = 2.0  # seconds


class Strike:
    """A thread that strikes once, `delay` seconds after the run began; what it raises is raised by `came`."""

    def __init__(self, client, whom: str, draw: float, delay: float):
        self.client, self.whom, self.delay = client, whom, delay
        self.pids = client.run(os.getpid, on_error="ignore")  # before the run: later somebody may not answer
        self.address = sorted(self.pids)[int(draw * len(self.pids))]
        self.at: float | None = None  # when it struck
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._strike, daemon=True)

    def begin(self) -> None:
        self.thread.start()

    def came(self, ended: float) -> bool:
        """Whether it struck before the run ended."""
        self.thread.join(30)
        if self.error is not None:
            raise self.error
        return self.at is not None and self.at < ended

    def _strike(self) -> None:
        time.sleep(self.delay)
        try:
            self.at = getattr(self, f"_{self.whom}")()
        except ProcessLookupError:  # it has left before
            pass
        except BaseException as error:
            self.error = error

    def _worker(self) -> float:
        os.kill(self.pids[self.address], signal.SIGKILL)
        return time.perf_counter()

    def _two(self) -> float:
        """Both at once, and with them both copies of what is kept in their memory."""
        addresses = sorted(self.pids) * 2
        at = addresses.index(self.address)
        for address in {*addresses[at : at + 2]}:
            os.kill(self.pids[address], signal.SIGKILL)
        return time.perf_counter()

    def _pause(self) -> float:
        """It does not answer for a while, and then goes on as if nothing had been."""
        os.kill(self.pids[self.address], signal.SIGSTOP)
        at = time.perf_counter()
        time.sleep(PAUSE)
        os.kill(self.pids[self.address], signal.SIGCONT)
        return at

    def _daemon(self) -> float | None:
        """Nobody, if there is none yet or any more."""
        children = psutil.Process(self.pids[self.address]).children()
        daemons = [child for child in children if DAEMON in child.cmdline()]
        if not daemons:
            return None
        daemons[0].kill()
        return time.perf_counter()

    def _restart(self) -> float | None:
        """By its nanny; nobody, if it has left before."""
        at = time.perf_counter()
        try:
            self.client.restart_workers([self.address], raise_for_error=False)
        except KeyError:  # the scheduler tells nothing of a worker that it does not know
            return None
        return at

    def _retire(self) -> float:
        at = time.perf_counter()
        self.client.retire_workers([self.address])
        return at

    def _scale(self) -> float:
        """One worker less, and at once one more."""
        self.client.cluster.scale(len(self.pids) - 1)
        at = time.perf_counter()
        time.sleep(0.1)
        self.client.cluster.scale(len(self.pids))
        return at

    def _adapt(self) -> float:
        """As many workers as the scheduler thinks there is work for, looked at all the time."""
        at = time.perf_counter()
        self.client.cluster.adapt(minimum=1, maximum=len(self.pids) + 1, interval="50 ms", wait_count=1)
        return at


WITH_NANNIES = ("restart", "retire", "scale", "adapt")  # what takes somebody who starts workers again
