"""The options of `factorize` as values."""

from __future__ import annotations

from typing import Literal

from dgraph.arguments import assign, check_choice, check_integer, check_positive, is_default, shown, value
from dgraph.errors import OptionError

UPDATES = ("gradient", "least_squares")


@value
class Gradient:
    """Gradient steps: ``update="gradient"`` is equivalent to ``dg.Gradient()``.

    Parameters
    ----------
    learning_rate : float, optional
        Length of a step, where 1 would solve for a vertex if factors were distributed evenly; if it is too large, an
        error is raised. By default each vertex takes its best step, halved if an epoch would increase the error.

    Examples
    --------
    >>> G = dg.ratings(users=50, items=20, ratings=600, seed=1)
    >>> dg.factorize(G, rank=4, update=dg.Gradient(learning_rate=0.2)).report.options["learning rate"]
    0.2
    """

    learning_rate: float | None = None

    def __post_init__(self) -> None:
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate)


@value
class LeastSquares:
    """Alternating least squares: each vertex gets the factors that are best with those of the others fixed.

    ``update="least_squares"`` is equivalent to ``dg.LeastSquares()``.

    Parameters
    ----------
    implicit_alpha : float, optional
        The weights are not ratings but implicit feedback, such as how often a user has listened to a song: products of
        factors should be 1 where there is some, with the confidence 1 + `implicit_alpha` times the weight, and 0 with
        the confidence 1 elsewhere (Hu, Koren and Volinsky, 2008). 40 is usual. From rank 32 on, an epoch takes three
        steps of conjugate gradients from the last factors in place of the exact solution, and the ranking is as good.

    Examples
    --------
    >>> G = dg.bipartite(left=50, right=20, edges=300, seed=1, weights=(1, 9))
    >>> result = dg.factorize(G, rank=4, update=dg.LeastSquares(implicit_alpha=40))
    >>> result.report.options["implicit alpha"], "bias" in result.compute()
    (40, False)
    """

    implicit_alpha: float | None = None

    def __post_init__(self) -> None:
        if self.implicit_alpha is not None:
            check_positive("implicit_alpha", self.implicit_alpha)


@value
class HeldOut:
    """Stop once the error on the held-out ratings has not fallen for some epochs.

    ``stop="held_out"`` is equivalent to ``dg.HeldOut()``.

    Parameters
    ----------
    patience : int, default 3
        Epochs without a new least error after which to stop.

    Examples
    --------
    >>> G = dg.ratings(users=50, items=20, ratings=600, seed=1)
    >>> dg.factorize(G, rank=4, stop=dg.HeldOut(patience=1)).rounds < 30
    True
    """

    patience: int = 3

    def __post_init__(self) -> None:
        assign(self, "patience", check_integer("patience", self.patience))


UpdateLike = Literal["gradient", "least_squares"] | Gradient | LeastSquares
StopLike = Literal["held_out"] | HeldOut | None


def update_value(given: UpdateLike) -> Gradient | LeastSquares:
    """The option `update=` as a value."""
    if isinstance(given, Gradient | LeastSquares):
        return given
    check_choice("update", given, UPDATES)
    return Gradient() if given == "gradient" else LeastSquares()


def stop_value(given: StopLike) -> HeldOut | None:
    """The option `stop=` as a value."""
    if given is None or isinstance(given, HeldOut):
        return given
    if is_default(given, "held_out"):
        return HeldOut()
    raise OptionError(f"{shown('stop', given)} is not known; choose held_out, a value such as dg.HeldOut(), or None")
