"""Whether the edges of a graph in this process go into memory, or into files of the scratch folder."""

from __future__ import annotations

import sys
from contextlib import suppress

import dask

from dgraph.errors import StorageError
from dgraph.native.free_memory import address_space, has_room, refuse_beyond_memory
from dgraph.partition.scratch import ScratchFolder, is_in_memory, usual_folder

SORTING = 4  # bytes of an edge that is on its way into its row, besides the edge
ROW, STATE = 8, 64  # bytes of a vertex in each table of edges, and in the arrays of an operation
NUMBERS = 12  # bytes of a vertex for its id and number


def scratch_beyond_memory(edges: int, vertices: int, column_bytes: int, tables: int = 1) -> ScratchFolder | None:
    """The scratch folder, if so many tables of these edges, while the last is sorted, and what an operation needs for
    each vertex take more than the free memory; else None. Refuse what would not fit even so. If only the operation may
    lack room, memory will do where there is no scratch folder."""
    table = edges * (4 + column_bytes)
    build = table * tables + edges * SORTING + vertices * (ROW * tables + NUMBERS)
    if has_room(build + vertices * STATE):
        return None
    what = f"a graph of {vertices:,} vertices and {edges:,} edges"
    refuse_beyond_memory(f"the vertices of {what}", vertices * (ROW * tables + NUMBERS))
    refuse_beyond_memory(f"addresses for the edges of {what}", table * tables, address_space())
    try:
        scratch = scratch_folder()
        scratch.require(table * tables + edges * SORTING, f"the edges of {what}")
    except StorageError:
        if has_room(build):
            return None
        raise
    return scratch


def where_on_disk(scratch: ScratchFolder | None) -> str:
    return "" if scratch is None else f" on disk in {scratch.folder}"


def scratch_folder() -> ScratchFolder:
    """Dask's folder for temporary files: that of the worker whose task calls this, or of this process."""
    if "distributed" in sys.modules:
        with suppress(ValueError):  # this is no task
            local = sys.modules["distributed"].get_worker().local_directory
            return ScratchFolder(usual_folder() if is_in_memory(local) else local)
    return ScratchFolder(dask.config.get("temporary-directory", None) or usual_folder())
