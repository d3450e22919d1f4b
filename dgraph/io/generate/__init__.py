"""Generated graphs: each row is a function of (seed, its index) alone, so any worker can build any block.

One generator a file; all are frozen, small and picklable: send the generator to a worker, not its edges.
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
