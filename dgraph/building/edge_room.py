"""Whether the edges of a graph in this process go into memory, or into files of the scratch folder."""

from __future__ import annotations

import dask

from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.partition.scratch import ScratchFolder, usual_folder

SORTING = 4  # bytes of an edge that is on its way into its row, besides the edge
ROW, STATE = 8, 64  # bytes of a vertex in each table of edges, and in the arrays of an operation


def scratch_beyond_memory(edges: int, vertices: int, column_bytes: int, tables: int = 1) -> ScratchFolder | None:
    """The scratch folder, if so many tables of these edges, while the last is sorted, and what an operation needs for
    each vertex take more than the free memory; else None. Refuse what would not fit even so."""
    table = edges * (4 + column_bytes)
    whole = table * tables + edges * SORTING + vertices * (ROW * tables + STATE)
    if has_room(whole):
        return None
    size = f"{vertices:,} vertices and {edges:,} edges"
    refuse_beyond_memory(f"the vertices of a graph of {size}", vertices * (ROW * tables + STATE))
    scratch = ScratchFolder(dask.config.get("temporary-directory", None) or usual_folder())
    scratch.require(table * tables + edges * SORTING, f"the edges of a graph of {size}")
    return scratch
