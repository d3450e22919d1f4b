"""Saved graphs: a folder with a manifest and the blocks of each partition, opened by memory map."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.arguments import AUTO, is_default
from dgraph.building.input_edges import EdgeRules, InputEdges
from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError, StorageError
from dgraph.frames.any_frame import LazyPieces
from dgraph.frames.sources import NoWeight, VertexSource, edge_source
from dgraph.partition import manifest, policies, store
from dgraph.partition.ids.bitmaps import Ranks
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.manifest import is_blocks, is_count, is_flag, is_number_type, is_text, list_of, optional, table_of
from dgraph.partition.partition import Partition
from dgraph.partition.placement import Placement
from dgraph.partition.policies import PartitionOptions
from dgraph.partition.rules import LOOPS, REPEATS
from dgraph.partition.typed_columns import Description, cast_to_description, frame_of, is_description

KIND, VERSION = "dgraph graph", 3
WITHOUT_CHANGES = 2  # the version of graphs that no changes have been appended to
OLDEST = 1  # in this version, edge columns are only numbers, and vertices have whatever types Arrow gave them
MANIFEST = "manifest.json"
REMEDY = "save the graph again"
ATTEMPTS = 5  # attempts to open a graph while others are saved to the same folder


def _is_column(value: Any) -> bool:
    """Whether `value` is a manifest's entry for an edge column: a block of numbers of a NumPy type, perhaps of another
    type in the user's frame, or the description of a column in a table."""
    if isinstance(value, dict) and "block" in value:
        return is_number_type(value["block"]) and is_description(value.get("as"))
    return is_number_type(value) or is_description(value)


def _is_results(value: Any) -> bool:
    return table_of(lambda one: isinstance(one, dict) and is_blocks(one.get("blocks")))(value)


CHANGES_SHAPE = {
    "identity": is_text,
    **dict.fromkeys(("num_vertices", "num_edges", "added", "removed", "vertices"), is_count),
    **dict.fromkeys(("columns", "attributes"), table_of(is_description)),
    "blocks": is_blocks,
    "results": _is_results,
}


def _are_changes(value: Any) -> bool:
    """Whether `value` is a manifest's entry for the changes that make a version."""
    return isinstance(value, dict) and all(test(value.get(name)) for name, test in CHANGES_SHAPE.items())


def _is_origin(value: Any) -> bool:
    """Whether `value` has the fields of a `SavedVersion`."""
    tests = {"root": is_text, "identity": is_text, "number": is_count}
    return isinstance(value, dict) and value.keys() == tests.keys() and all(tests[name](value[name]) for name in tests)


def _are_rules(value: Any) -> bool:
    """Whether `value` has the fields of `EdgeRules` but the direction."""
    if not isinstance(value, dict) or value.keys() != {"loops", "repeats", "symmetrize"}:
        return False
    return value["loops"] in LOOPS and value["repeats"] in REPEATS and is_flag(value["symmetrize"])


MANIFEST_SHAPE = {
    "directed": is_flag,
    **dict.fromkeys(("source", "destination", "id", "policy"), is_text),
    **dict.fromkeys(("num_vertices", "num_edges"), is_count),
    **dict.fromkeys(("owned", "edges"), list_of(is_count)),
    "weight": lambda value: value is None or is_text(value),
    "possible_weights": optional(list_of(is_text)),
    "columns": list_of(is_text),
    "dtypes": list_of(_is_column),
    "attributes": lambda value: is_flag(value) or table_of(is_description)(value),
    "orders": list_of(lambda value: value in ("out", "incoming")),
    "id_type": list_of(is_text),
    "first": lambda value: isinstance(value, int) and abs(value) < 1 << 64,
    "partitions": list_of(is_blocks),
    "shared": is_blocks,
    "rules": optional(_are_rules),  # those of updates; the saved edges have followed them already
    "origin": optional(_is_origin),
    "versions": optional(list_of(_are_changes)),
}


@dataclass(frozen=True)
class SavedVersion:
    """A version of a saved graph. Its identity tells whether another one is equal; `root` is that of the first
    version, from which all others were made. Both are one object in each process, as the versions of other graphs
    are, because an answer goes on if its version is that of a graph."""

    root: str
    identity: str
    number: int

    def __post_init__(self) -> None:
        for name in ("root", "identity"):
            object.__setattr__(self, name, sys.intern(getattr(self, name)))


@dataclass(frozen=True, eq=False)
class SavedGraph:
    """A folder with a saved graph, the content of its manifest, and the number of a version in it."""

    folder: Path
    content: dict[str, Any]
    number: int

    @classmethod
    def find(cls, folder: Path, version: int | None = None) -> SavedGraph:
        """A version of the saved graph in a folder, by default the newest, once the manifest and the size of each of
        its blocks are checked."""
        for _ in range(ATTEMPTS):
            found = cls._read(folder, version)
            try:
                store.check_sizes(folder, found.blocks)
                return found
            except StorageError:
                if not found._is_replaced():
                    raise
        problem = f"{folder}: another process keeps replacing this saved graph while it is read"
        raise StorageError(f"{problem}; try again once it has finished")

    @classmethod
    def _read(cls, folder: Path, version: int | None) -> SavedGraph:
        """The saved graph in a folder, once its manifest is checked."""
        path = folder / MANIFEST
        try:
            text = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError) as cause:
            raise StorageError(f"{folder} is not a saved graph: {MANIFEST} is missing") from cause
        except OSError as cause:
            raise StorageError(f"{path}: cannot be read ({cause})") from cause
        content = manifest.read_manifest(text, KIND, VERSION, MANIFEST_SHAPE, path=path, remedy=REMEDY, oldest=OLDEST)
        if not _is_results(content.get("results", {})):
            raise StorageError(f"{path}: its results are not valid; {REMEDY}")
        if len(content["columns"]) != len(content["dtypes"]):
            raise StorageError(f"{path}: its lists of columns differ in length; {REMEDY}")
        if not len(content["owned"]) == len(content["partitions"]) == len(content["edges"]) > 0:
            raise StorageError(f"{path}: its lists of partitions differ in length; {REMEDY}")
        first = content["origin"]["number"] if "origin" in content else 0
        last = first + len(content.get("versions", []))
        number = last if version is None else version
        if not first <= number <= last:
            which = f"only version {last}" if first == last else f"the versions {first} to {last}"
            raise OptionError(f"version={version} is not in {folder}, which has {which}")
        return cls(folder, content, number)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors of blocks into a StorageError, which says if the folder now holds another graph."""
        try:
            with manifest.refuse_mismatch(self.folder, REMEDY):
                yield
        except StorageError as cause:
            if not self._is_replaced():
                raise
            problem = f"{self.folder}: another graph was saved there after this one was opened"
            raise StorageError(f"{problem}; open it again with dgraph.open_graph") from cause

    def _is_replaced(self) -> bool:
        """Whether the folder has another manifest now."""
        try:
            now = json.loads((self.folder / MANIFEST).read_bytes())
            return _as_a_whole(now["content"]) != _as_a_whole(self.content)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False

    def opened(
        self, workers: Workers, weight: str | None, policy: Any, parts: int, capacities: Any
    ) -> tuple[InputEdges, PartitionOptions, bool]:
        """The edges of the first version, the options to partition them, and whether the saved partitions are used
        unchanged."""
        content = self.content
        same_policy = policy is None or is_default(policy, content["policy"])
        as_saved = same_policy and parts == self.parts and capacities is None
        if as_saved:
            policy = policies.saved_policy(content["policy"])
        elif policy is None:
            policy = content["policy"] if content["policy"] in policies.POLICY_NAMES else "auto"
        frame = LazyPieces(self._empty_edges, lambda: self._tasks(SavedGraph.edge_table))
        chosen: str | NoWeight | None = weight
        if is_default(weight, AUTO):
            chosen = content["weight"] or NoWeight(content.get("possible_weights"))
        edges = edge_source(frame, content["source"], content["destination"], chosen)
        listed = LazyPieces(self._empty_vertices, lambda: self._tasks(SavedGraph.vertex_table))
        vertices = VertexSource(listed if content["attributes"] else None, content["id"])
        input_edges = InputEdges(edges, vertices, EdgeRules(directed=content["directed"]), workers, self)
        input_edges.later_rules = EdgeRules(content["directed"], **content.get("rules", {}))
        input_edges.root, input_edges.version = self.first.root, self.first.identity
        input_edges.saved_as(self.first)
        return input_edges, PartitionOptions(policy, parts, capacities), as_saved

    # -- versions ------------------------------------------------------------------------------------------------------

    @cached_property
    def first(self) -> SavedVersion:
        """The version that is saved as a whole."""
        if "origin" in self.content:
            return SavedVersion(**self.content["origin"])
        identity = _identity_of(self.content)
        return SavedVersion(identity, identity, 0)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The manifest's entries for the changes after the first version, up to the chosen one."""
        return self.content.get("versions", [])[: self.number - self.first.number]

    @property
    def version(self) -> SavedVersion:
        """The chosen version."""
        identity = self.changes[-1]["identity"] if self.changes else self.first.identity
        return SavedVersion(self.first.root, identity, self.number)

    @property
    def results(self) -> dict[str, Any]:
        """The manifest's entries for the results that were saved with the chosen version."""
        return self.changes[-1]["results"] if self.changes else self.content.get("results", {})

    @property
    def prefix(self) -> str:
        """How the names of the chosen version's blocks begin, except for the first one's."""
        return prefix_of(self.number) if self.changes else ""

    @property
    def blocks(self) -> dict[str, store.Entry]:
        """All blocks that the chosen version needs."""
        return all_blocks({**self.content, "versions": self.changes})

    @property
    def parts(self) -> int:
        return len(self.content["owned"])

    @cached_property
    def columns(self) -> dict[str, str | Description]:
        """The manifest's entry for each edge column, in the user's order."""
        return dict(zip(self.content["columns"], self.content["dtypes"], strict=True))

    @cached_property
    def numbers(self) -> dict[str, str]:
        """The edge columns that each partition has as numbers, for kernels, and the types of their blocks."""
        blocks = {name: said if isinstance(said, str) else said.get("block") for name, said in self.columns.items()}
        return {name: block for name, block in blocks.items() if block is not None}

    @cached_property
    def others(self) -> dict[str, Description]:
        """The edge columns that each partition has in a table, and their descriptions."""
        return {name: said for name, said in self.columns.items() if not isinstance(said, str) and "block" not in said}

    def numbering(self) -> Numbering:
        """The numbering of the saved ids."""
        first, shared = self.content["first"], self.content["shared"]
        ranks, tables = None, []
        with self.reading():
            if "ids.arrow" in shared:
                tables = [store.read_table(self.folder, "ids", shared["ids.arrow"])["id"].combine_chunks()]
            elif "words.npy" in shared:
                ranks = Ranks.of_bitmap(first, store.read_array(self.folder, "words", shared["words.npy"], [np.uint64]))
            else:
                ranks = Ranks(first, self.content["num_vertices"])
            numbering = Numbering(IdType(*self.content["id_type"]), ranks, tables)
            manifest.require(numbering.size == self.content["num_vertices"], "ids for another number of vertices")
            return numbering

    def placement(self, policy: policies.Policy) -> Placement:
        """The saved choice of masters."""
        shared = self.content["shared"]
        with self.reading():
            bounds = np.concatenate([[0], np.cumsum(self.content["owned"])]).astype(np.int64)
            high = np.empty(0, bool)
            if "hubs.npy" in shared:
                high = store.read_array(self.folder, "hubs", shared["hubs.npy"], [np.bool_])
            if "order.npy" not in shared:
                return Placement(policy, bounds, high)
            numbers = store.read_array(self.folder, "order", shared["order.npy"], store.NUMBERS)
            return Placement.of_numbers(policy, bounds, numbers, high)

    def partition(self, part: int, numbering: Numbering, where: Placement) -> Partition:
        owned, size = self.content["owned"], self.content["num_vertices"]
        blocks = self.content["partitions"][part]
        with self.reading():
            ids = where.ids(numbering, part)
            partition = store.read_partition(self.folder, part, len(owned), owned[part], blocks, self.numbers, ids)
            store.check_partition(partition, size)
            return partition

    def hold(self, workers: Workers, numbering: Numbering, where: Placement) -> list[Any]:
        """All partitions, each memory-mapped by the worker that will process it."""
        shared = workers.share(numbering), workers.share(where)
        hosts = [workers.host(part, self.parts) for part in range(self.parts)]
        return workers.hold([workers.call(self.partition, part, *shared, on=host) for part, host in enumerate(hosts)])

    def edge_table(self, part: int) -> dict[str, Any]:
        """The edges of a saved partition as a frame; undirected edges are listed once."""
        numbering = self.numbering()
        partition = self.partition(part, numbering, self.placement(policies.choose_policy("auto", 1)))
        out, numbers = partition.by_source, partition.numbers
        sources, destinations, columns = numbers[out.rows()], numbers[out.neighbours], out.columns
        if not self.content["directed"]:
            once = sources <= destinations
            sources, destinations = sources[once], destinations[once]
            columns = {name: column[once] for name, column in columns.items()}
        ends = {
            self.content["source"]: numbering.restored(sources),
            self.content["destination"]: numbering.restored(destinations),
        }
        others = self._table(f"p{part}.others", self.others, self.content["partitions"][part], len(sources))
        return pd.DataFrame({**ends, **self._described(columns, others)})

    def _described(self, numbers: dict[str, np.ndarray], others: pd.DataFrame) -> dict[str, Any]:
        """All edge columns in the user's order and types."""
        with self.reading():
            columns: dict[str, Any] = {**numbers, **others}
            for name, said in self.columns.items():
                if name in self.numbers and not isinstance(said, str):
                    columns[name] = cast_to_description(numbers[name], said["as"])
            return {name: columns[name] for name in self.columns}

    def vertex_table(self, part: int) -> pd.DataFrame:
        """The vertices that a saved partition owns as a frame, with their attributes."""
        name, attributes, shared = f"vertices{part}", self.content["attributes"], self.content["shared"]
        if attributes is True:
            with self.reading():
                return store.read_table(self.folder, name, shared[f"{name}.arrow"]).to_pandas()
        numbering = self.numbering()
        with self.reading():
            ids = self.placement(policies.choose_policy("auto", 1)).ids(numbering, part)
        listed = pd.DataFrame({self.content["id"]: numbering.id_type.restore(ids)})
        return pd.concat([listed, self._table(name, attributes, shared, len(listed))], axis=1)

    def _table(self, name: str, columns: dict[str, Description], blocks: dict[str, Any], rows: int) -> pd.DataFrame:
        """The columns of a table of `rows` rows, which is saved as a block."""
        if not columns:
            return pd.DataFrame(index=pd.RangeIndex(rows))
        with self.reading():
            frame = frame_of(store.read_table(self.folder, name, blocks[f"{name}.arrow"]), columns)
            manifest.require(len(frame) == rows, f"{name}.arrow with another number of rows")
            return frame

    def _tasks(self, read: Any) -> list[Any]:
        return [Workers().call(read, self, part) for part in range(self.parts)]

    def _no_ids(self) -> Any:
        id_type = IdType(*self.content["id_type"])
        storage = {"string": pa.large_string(), "uuid": pa.binary(16)}.get(id_type.kind, pa.int64())
        return id_type.restore(pa.array([], storage))

    def _empty_edges(self) -> pd.DataFrame:
        content, none = self.content, self._no_ids()
        numbers = {name: np.empty(0, block) for name, block in self.numbers.items()}
        others = self._table("edges", self.others, content["shared"], 0)
        return pd.DataFrame({content["source"]: none, content["destination"]: none, **self._described(numbers, others)})

    def _empty_vertices(self) -> pd.DataFrame:
        attributes = self.content["attributes"]
        if attributes is True:
            return self.vertex_table(0).iloc[:0]
        table = self._table("vertices", attributes, self.content["shared"], 0)
        return pd.concat([pd.DataFrame({self.content["id"]: self._no_ids()}), table], axis=1)

    def verify(self) -> int:
        """Check every block that the chosen version needs. Returns the number of blocks."""
        self._empty_edges(), self._empty_vertices()
        numbering = self.numbering()
        where = self.placement(policies.choose_policy("auto", 1))
        for part in range(self.parts):
            self.edge_table(part) if self.others else self.partition(part, numbering, where)
            if self.content["attributes"]:
                self.vertex_table(part)
        with self.reading():
            others = [self.content.get("results", {}), *(one["results"] for one in self.changes)]
            for blocks in (*(one["blocks"] for results in others for one in results.values()), *self._of_changes):
                for name, entry in blocks.items():
                    if name.endswith(".arrow"):
                        store.read_table(self.folder, name.removesuffix(".arrow"), entry)
                    else:
                        store.read_array(self.folder, name.removesuffix(".npy"), entry, None)
        return len(self.blocks)

    @property
    def _of_changes(self) -> list[dict[str, store.Entry]]:
        return [one["blocks"] for one in self.changes]


def all_blocks(content: dict[str, Any]) -> dict[str, store.Entry]:
    """All blocks that a manifest lists."""
    versions = content.get("versions", [])
    results = [content.get("results", {}), *(one["results"] for one in versions)]
    of_results = [one["blocks"] for some in results for one in some.values()]
    parts = (*content["partitions"], content["shared"], *(one["blocks"] for one in versions), *of_results)
    return {name: entry for blocks in parts for name, entry in blocks.items()}


def prefix_of(version: int) -> str:
    """How the names of blocks begin that a version adds to the first one."""
    return f"v{version}."


def _identity_of(content: dict[str, Any]) -> str:
    """The identity of a graph that is saved as a whole: it tells what is in its blocks, and in which order."""
    others = ("results", "origin")
    return manifest.checksum_of({name: one for name, one in _as_a_whole(content).items() if name not in others})


def _as_a_whole(content: dict[str, Any]) -> dict[str, Any]:
    """What a manifest says of the version that is saved as a whole."""
    return {name: value for name, value in content.items() if name != "versions"}


def local_folder(path: Any) -> Path:
    """The folder that a path or a `file://` URL names."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise OptionError(f"expected the path of a folder, got {path!r}")
    text = os.fspath(path)
    if text.startswith("file://"):
        text = text.removeprefix("file://")
    elif "://" in text:
        problem = f"{text!r}: a saved graph is a folder that is opened by memory map"
        raise OptionError(f"{problem}; pass a local or shared path")
    return Path(text).expanduser().absolute()
