"""Graphs on disk: a folder with a manifest and the blocks of every partition, opened by memory map."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.building.input_edges import EdgeRules, InputEdges
from dgraph.building.shares import MOST_PARTS, check_capacities
from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError, StorageError
from dgraph.frames.any_frame import LazyPieces
from dgraph.frames.sources import EdgeSource, VertexSource
from dgraph.graph import Graph
from dgraph.options import check_integer, is_default, known_options
from dgraph.partition import policies, store
from dgraph.partition.ids.bitmaps import Ranks
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.manifest import (
    either,
    fitting,
    is_blocks,
    is_count,
    is_flag,
    is_number_type,
    is_text,
    list_of,
    one_of,
    read_manifest,
)
from dgraph.partition.partition import Partition
from dgraph.partition.placement import Placement
from dgraph.partition.policies import PartitionOptions

KIND, VERSION = "dgraph graph", 1
MANIFEST = "manifest.json"
AGAIN = "save the graph again"
SHAPE = {
    **dict.fromkeys(("directed", "attributes"), is_flag),
    **dict.fromkeys(("source", "destination", "id", "policy"), is_text),
    **dict.fromkeys(("num_vertices", "num_edges"), is_count),
    **dict.fromkeys(("owned", "edges"), list_of(is_count)),
    "weight": either(is_text, one_of(None)),
    "columns": list_of(is_text),
    "dtypes": list_of(is_number_type),
    "orders": list_of(one_of("out", "incoming")),
    "id_type": list_of(is_text),
    "first": lambda value: isinstance(value, int) and abs(value) < 1 << 64,
    "partitions": list_of(is_blocks),
    "shared": is_blocks,
}


@known_options()
def open_graph(
    path: Any, *, policy: Any = None, parts: int | None = None, capacities: Any = None, client: Any = None
) -> Graph:
    """A graph from a folder that `Graph.save` wrote.

    Only the manifest is read now; blocks are mapped and checked when they are first used. The saved partitions are used
    as they are if there are as many as `parts` (by default one for each worker; in this process, as saved) and no other
    policy is asked for; else the graph is partitioned again.
    """
    workers, saved = Workers.find(client), SavedGraph.find(local_folder(path))
    parts = check_integer("parts", parts, 1, MOST_PARTS, or_none=True) or len(workers.addresses) or saved.parts
    check_capacities(workers, capacities, parts)
    return saved.graph(workers, policy, parts, capacities)


@dataclass(frozen=True, eq=False)
class SavedGraph:
    """A folder with a saved graph, and what its manifest says."""

    folder: Path
    content: dict[str, Any]

    @classmethod
    def find(cls, folder: Path) -> SavedGraph:
        """The manifest, checked; every block is there and has its size."""
        path = folder / MANIFEST
        try:
            text = path.read_bytes()
        except FileNotFoundError as cause:
            raise StorageError(f"{folder} holds no saved graph: {MANIFEST} is missing") from cause
        except OSError as cause:
            raise StorageError(f"{path}: cannot be read ({cause})") from cause
        content = read_manifest(text, KIND, VERSION, SHAPE, path=path, remedy=AGAIN)
        if not len(content["owned"]) == len(content["partitions"]) == len(content["edges"]) > 0:
            raise StorageError(f"{path}: it lists partitions that are not all described; {AGAIN}")
        store.check_sizes(folder, {n: e for one in (*content["partitions"], content["shared"]) for n, e in one.items()})
        return cls(folder, content)

    def graph(self, workers: Workers, policy: Any, parts: int, capacities: Any) -> Graph:
        content = self.content
        as_saved = (
            (policy is None or is_default(policy, content["policy"]))
            and parts == len(content["owned"])
            and capacities is None
        )
        if policy is None:
            policy = content["policy"] if content["policy"] in policies.NAMES else "auto"
        names = (content["source"], content["destination"])
        edges = EdgeSource(
            LazyPieces(self._empty_edges, lambda: self._tasks(SavedGraph.edge_table)), *names, content["weight"]
        )
        vertices = VertexSource(id=content["id"])
        if content["attributes"]:
            empty = partial(self.vertex_table, 0)
            listed = LazyPieces(lambda: empty().iloc[:0], lambda: self._tasks(SavedGraph.vertex_table))
            vertices = VertexSource(listed, content["id"])
        frames = InputEdges(edges, vertices, EdgeRules(directed=content["directed"]), workers, self)
        return Graph.of(frames, PartitionOptions(policy, parts, capacities), as_saved=as_saved)

    @property
    def parts(self) -> int:
        return len(self.content["owned"])

    def numbering(self) -> Numbering:
        """The saved ids."""
        size, first, shared = (self.content[name] for name in ("num_vertices", "first", "shared"))
        with fitting(self.folder, AGAIN):
            kind = IdType(*self.content["id_type"])
            if "ids.arrow" in shared:
                table = store.read_table(self.folder, "ids", shared["ids.arrow"])["id"].combine_chunks()
                return Numbering(kind, size, tables=(table if isinstance(table, pa.Array) else table.chunk(0),))
            if "words.npy" not in shared:
                return Numbering(kind, size, Ranks.dense(first, size))
            words = store.read_array(self.folder, "words", shared["words.npy"])
            return Numbering(kind, size, Ranks.of_bitmap(first, words))

    def placement(self, policy: policies.Policy) -> Placement:
        """The saved masters."""
        shared = self.content["shared"]
        with fitting(self.folder, AGAIN):
            bounds = np.concatenate([[0], np.cumsum(self.content["owned"])]).astype(np.int64)
            if "order.npy" not in shared:
                return Placement(policy, bounds, store.read_array(self.folder, "hubs", shared["hubs.npy"]))
            numbers = store.read_array(self.folder, "order", shared["order.npy"])
            positions = np.empty_like(numbers)
            positions[numbers] = np.arange(len(numbers), dtype=numbers.dtype)
            return Placement(policy, bounds, numbers=numbers, positions=positions)

    def partition(self, part: int, known: Numbering, where: Placement) -> Partition:
        owned, size = self.content["owned"], self.content["num_vertices"]
        blocks, columns = self.content["partitions"][part], self.content["columns"]
        with fitting(self.folder, AGAIN):
            ids = where.ids(known, part)
            found = store.read_partition(self.folder, part, len(owned), owned[part], blocks, columns, ids)
            store.check_partition(found, size)
            return found

    def hold(self, workers: Workers, known: Numbering, where: Placement) -> list[Any]:
        """All partitions, each mapped by the worker that will run it."""
        shared = workers.share(known), workers.share(where)
        hosts = [workers.host(part, self.parts) for part in range(self.parts)]
        return workers.hold([workers.call(self.partition, part, *shared, on=host) for part, host in enumerate(hosts)])

    def edge_table(self, part: int) -> dict[str, Any]:
        """The edges of a saved partition as a frame, undirected ones once."""
        known = self.numbering()
        found = self.partition(part, known, self.placement(policies.choose("auto", 1)))
        assert found.out is not None
        sources, destinations = found.numbers[found.out.rows()], found.numbers[found.out.neighbours]
        columns = found.out.columns
        if not self.content["directed"]:
            once = sources <= destinations
            sources, destinations = sources[once], destinations[once]
            columns = {name: column[once] for name, column in columns.items()}
        ends = {
            self.content["source"]: known.id_type.restore(known.take(sources)),
            self.content["destination"]: known.id_type.restore(known.take(destinations)),
        }
        return pd.DataFrame({**ends, **columns})

    def vertex_table(self, part: int) -> pd.DataFrame:
        name = f"vertices{part}"
        return store.read_table(self.folder, name, self.content["shared"][f"{name}.arrow"]).to_pandas()

    def _tasks(self, read: Any) -> list[Any]:
        return [Workers().call(read, self, part) for part in range(self.parts)]

    def _empty_edges(self) -> pd.DataFrame:
        content = self.content
        kind = IdType(*content["id_type"])
        none = kind.restore(np.empty(0, np.int64) if kind.kind in ("integer", "none") else pa.array([], _storage(kind)))
        dtypes = zip(content["columns"], content["dtypes"], strict=True)
        columns = {name: np.empty(0, dtype) for name, dtype in dtypes}
        return pd.DataFrame({content["source"]: none, content["destination"]: none, **columns})

    def verify(self) -> int:
        """Check every block; the number of blocks."""
        known = self.numbering()
        where = self.placement(policies.choose("auto", 1))
        for part in range(self.parts):
            self.partition(part, known, where)
            if self.content["attributes"]:
                self.vertex_table(part)
        return sum(map(len, self.content["partitions"])) + len(self.content["shared"])


def _storage(kind: IdType) -> pa.DataType:
    return pa.large_string() if kind.kind == "string" else pa.binary(16)


def local_folder(path: Any) -> Path:
    """The folder that a path or a `file://` URL names."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise OptionError(f"{path!r} is no path: name a folder")
    text = os.fspath(path)
    if text.startswith("file://"):
        text = text.removeprefix("file://")
    elif "://" in text:
        raise OptionError(
            f"{text!r}: graphs are saved to folders that are opened by memory map; give a local or shared path"
        )
    return Path(text).expanduser().absolute()
