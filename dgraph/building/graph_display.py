"""What notebooks and plots show of a graph."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from dgraph.arguments import known_options
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.retry import retry

if TYPE_CHECKING:
    from dgraph.graph import Graph


class GraphDisplay(PartitionedGraph):
    """The part of a `Graph` that notebooks show, and its plot."""

    def _repr_html_(self) -> str:
        from dgraph.display.cards import graph_card

        return graph_card(cast("Graph", self))

    @known_options()
    def plot(self, *, color: Any = None, kind: str = "auto", ax: Any = None) -> Any:
        """Plot the degrees of the vertices, or a drawing of a small graph, with Matplotlib (the extra ``plots``).

        Degrees are counted by the workers. Only what is drawn is fetched to this process.

        Parameters
        ----------
        color : RunResult or ResultColumn, optional
            Colours the vertices of a drawing: a result of this graph, of which the first column counts, or
            ``result.column(name)``. Columns of vertices, such as components, stand for groups.
        kind : {"auto", "degrees", "drawing"}, default "auto"
            ``"degrees"`` shows how many vertices have which degree. ``"drawing"`` shows vertices and edges; ``"auto"``
            chooses it for up to 400 vertices and 4,000 edges.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If Matplotlib is not installed, an option has a value that is not allowed, the graph is too large to draw,
            or `color` is of other vertices.

        Examples
        --------
        >>> G = dg.rmat(scale=10, edge_factor=8, seed=1)
        >>> G.plot().get_xlabel()
        'degree'
        >>> H = dg.grid(rows=4, cols=4)
        >>> H.plot(color=dg.bfs(H, 0)).get_title(loc="left")
        '16 vertices and 21 edges'
        """
        from dgraph.display.graph_plot import plot_graph

        return retry(self.client, partial(plot_graph, cast("Graph", self), color, kind, ax), self.forget_lost)
