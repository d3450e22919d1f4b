"""Generated graphs: each row depends only on (seed, its index), so any worker can build any block.

Each file holds one generator. Generators are frozen, small and picklable: workers receive the generator, not edges.
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
