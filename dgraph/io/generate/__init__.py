"""Generators of edges, one per file, whose rows depend only on (seed, index). Partitioning is up to `building/`.

Any worker can build any block. Generators are frozen, small and picklable: workers receive the generator, not edges.
"""

from dgraph.io.generate.bipartite import Bipartite
from dgraph.io.generate.generator import Generator
from dgraph.io.generate.grid import Grid
from dgraph.io.generate.ratings import Ratings
from dgraph.io.generate.rmat import Rmat
from dgraph.io.generate.uniform import Uniform

GENERATORS: dict[str, type[Generator]] = {
    "rmat": Rmat,
    "uniform": Uniform,
    "grid": Grid,
    "ratings": Ratings,
    "bipartite": Bipartite,
}

__all__ = ["GENERATORS", "Bipartite", "Generator", "Grid", "Ratings", "Rmat", "Uniform"]
