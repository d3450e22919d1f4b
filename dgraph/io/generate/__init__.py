"""Generators of edges, one model per file, whose rows depend only on (seed, index). Partitioning is up to `building/`.

Any worker can build any block. Generators are frozen, small and picklable: workers receive the generator, not edges.
"""

from dgraph.io.generate.generator import Generator
from dgraph.io.generate.grid import Grid
from dgraph.io.generate.ratings import Ratings
from dgraph.io.generate.rmat import Rmat
from dgraph.io.generate.uniform import Bipartite, Uniform

_KINDS: tuple[type[Generator], ...] = (Rmat, Uniform, Grid, Ratings, Bipartite)
GENERATORS = {kind.__name__.lower(): kind for kind in _KINDS}

__all__ = ["GENERATORS", "Bipartite", "Generator", "Grid", "Ratings", "Rmat", "Uniform"]
