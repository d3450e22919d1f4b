"""The report of a run: by round and partition, in total by partition, and compared with another run."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd

from dgraph.arguments import known_options
from dgraph.phrases.printable import printable

SUMS = ("steps", "fired", "senders", "edges", "messages", "bytes", "exchanges", "skipped")


class RunReport(pd.DataFrame):
    """What happened in a run: a pandas frame with one row per superstep and partition.

    With ``engine="bulk_async"``, which does not run in rounds, each row is a local round of a partition.
    Columns depend on the program, the engine and the device; the most common ones are:

    ========== =====================================================================================================
    fired      Number of vertices that received messages.
    senders    How many of those vertices had something to send; present only if the run sends only changes.
    edges      Number of edges that kernels read.
    messages   Number of messages sent to other partitions.
    bytes      Number of bytes sent to other partitions.
    exchanges  How often the workers waited for each other's messages in the superstep.
    skipped    Whether the superstep needed no exchange.
    direction  Whether vertices pushed or pulled messages; ``"local"`` for a program's own solver.
    device     The device that ran the partition's kernels.
    busy, idle Seconds spent working and seconds spent waiting.
    wait       With ``"bulk_async"``: seconds spent waiting for another partition on the same worker, or for incoming
               messages, although there was work to do.
    streamed   On GPUs: bytes of edges that did not fit the GPU's memory.
    direct     On GPUs: bytes of messages that went to another GPU without a copy in main memory.
    ========== =====================================================================================================

    Attributes
    ----------
    options : dict
        The choices made for the run: engine, device, daemons, direction and so on. ``"previous"`` says whether the run
        went on from the earlier result that it was given, or why it did not. ``"mail route"`` says how messages
        got from worker to worker: ``"direct"``, ``"two hops"`` over a grid of many workers, ``"within the process"`` if
        workers are its threads, or ``"task graph"``.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    >>> report = dg.bfs(G, 0, engine="bsp").report
    >>> report.options["engine"]
    'bsp'
    """

    _metadata: ClassVar[list[str]] = ["options"]
    options: dict[str, Any]

    def __repr__(self) -> str:
        return f"{pd.DataFrame(self)}\n\n{self._options()}"

    def _repr_html_(self) -> str:
        from dgraph.display.cards import report_card

        return report_card(self)

    def _options(self) -> str:
        return "\n".join(f"{name:>22}  {printable(value)}" for name, value in getattr(self, "options", {}).items())

    @known_options()
    def plot(self, *, by: str = "superstep", ax: Any = None) -> Any:
        """Plot the run with Matplotlib, which comes with the extra ``plots``.

        Parameters
        ----------
        by : {"superstep", "partition"}, default "superstep"
            ``"superstep"`` shows vertices fired, edges read, bytes sent and seconds of each superstep. ``"partition"``
            shows when each partition worked and waited.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If Matplotlib is not installed, an option has a value that is not allowed, or the report has no rows.

        Examples
        --------
        >>> G = dg.rmat(scale=8, edge_factor=8, seed=1)
        >>> dg.pagerank(G, tol=0, max_iter=3, engine="bsp").report.plot().get_title(loc="left")
        'bsp: 3 supersteps'
        """
        from dgraph.display.report_plot import plot_report

        return plot_report(self, by, ax)

    @property
    def partitions(self) -> pd.DataFrame:
        """The totals of each partition.

        Returns
        -------
        pandas.DataFrame
            One row per partition: its number of rounds, and the sums of its counts and seconds.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})
        >>> dg.pagerank(G, tol=0, max_iter=3, engine="bsp").report.partitions[["rounds", "fired", "edges"]]
                   rounds  fired  edges
        partition
        0               3      9      9
        """
        rows = pd.DataFrame(self).groupby("partition")
        sums = [name for name in (*SUMS, "busy", "wait", "idle") if name in self]
        return rows.size().to_frame("rounds").join(rows[sums].sum())

    def against(self, other: RunReport) -> pd.DataFrame:
        """Compare this run with another.

        Parameters
        ----------
        other : RunReport
            The report of the other run.

        Returns
        -------
        pandas.DataFrame
            One row per count, summed over partitions: ``this``, ``other`` and their ``ratio``.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})
        >>> three, six = (dg.pagerank(G, tol=0, max_iter=n, engine="bsp").report for n in (3, 6))
        >>> three.against(six).loc[["most rounds", "edges"]]
                     this  other  ratio
        most rounds   3.0    6.0    0.5
        edges         9.0   18.0    0.5
        """
        runs = {}
        for name, report in (("this", self), ("other", other)):
            parts = report.partitions
            runs[name] = {"fewest rounds": parts["rounds"].min(), "most rounds": parts["rounds"].max()} | dict(
                parts.sum()
            )
        frame = pd.DataFrame(runs, [what for what in runs["this"] if what != "rounds" and what in runs["other"]])
        return frame.assign(ratio=frame["this"] / frame["other"])
