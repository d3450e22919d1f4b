"""Real graphs with their reference results, ready to be run on."""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.io.formats import read_edge_list

DATA = Path(os.environ.get("DGRAPH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")

FILES = {
    "ldbc_example-directed": ("ldbc_example/example-directed.e", {}),
    "ldbc_example-undirected": ("ldbc_example/example-undirected.e", {}),
    "graphx": ("graphx/followers.txt", {}),
    "karate": ("cugraph_small/karate.csv", {"weight": 2}),
    "dolphins_s_loop": ("cugraph_small/dolphins_s_loop.csv", {"weight": 2}),
    "dolphins_multi_edge": ("cugraph_small/dolphins_multi_edge.csv", {"weight": 2}),
    "openflights": ("openflights/routes.dat.xz", {"source": 2, "destination": 4}),
    "email-Eu-core": ("email-Eu-core/email-Eu-core.csv.xz", {}),
    "wiki-Vote": ("wiki-Vote/wiki-Vote.txt.xz", {}),
    "facebook_combined": ("facebook_combined/facebook_combined.txt.xz", {}),
    "musae_git": ("musae_git/git_edges.csv.xz", {}),
    "foodweb-baydry": ("foodweb-baydry/foodweb-baydry.konect", {}),
    "jazz": ("jazz/jazz.graph", {}),
    "power": ("power/power.graph.xz", {}),
    "PGPgiantcompo": ("PGPgiantcompo/PGPgiantcompo.graph.xz", {}),
    "celegans_metabolic": ("celegans_metabolic/celegans_metabolic.graph", {}),
    "polblogs": ("polblogs/polblogs.graph.xz", {}),
    "wave": ("wave/wave.graph.xz", {}),
    "usroads-48": ("usroads-48/road-usroads-48.mtx.xz", {}),
    "p2p-31": ("p2p-31/p2p-31.properties", {}),
    "twitter": ("twitter/twitter_e_*.xz", {"weight": "weight"}),
    "asoiaf": ("asoiaf/asoiaf-all-edges.csv.xz", {"weight": "weight"}),
}
SMALL = [name for name in FILES if name not in ("twitter", "usroads-48", "wave")]
PLACES = [  # on which answers may not depend
    {},
    {"parts": 2, "policy": "outgoing"},
    {"parts": 3, "policy": "hybrid"},
    {"parts": 8, "policy": "cartesian"},
    {"parts": 3, "policy": "incoming"},
]


class RealGraph:
    """A frame with the column `weight` that the references used, the facts, and what they found."""

    def __init__(self, name: str):
        if not DATA.is_dir():
            pytest.skip(f"shared/data is not here: looked in {DATA}")
        self.facts = json.loads((DATA / "refs" / f"{name}.json").read_text())["facts"]
        self.expected = dict(np.load(DATA / "refs" / f"{name}.npz"))
        self.n = len(self.expected["pagerank"])
        if "id" in self.expected:
            self.ids = list(self.expected["id"].tolist())
        else:
            self.ids = list(range(int(self.expected["id_first"]), int(self.expected["id_first"]) + self.n))
        path, options = FILES[name]
        listed = read_edge_list(next(iter(sorted(DATA.glob(path)))) if "*" not in path else DATA / path, **options)
        table = listed.edges
        frame = table.to_pandas() if hasattr(table, "to_pandas") else table
        frame = frame.rename(columns={listed.source: "src", listed.destination: "dst"})
        self.directed = self.facts["directed"]
        position = {identifier: i for i, identifier in enumerate(self.ids)}
        u, v = (frame[end].map(position).to_numpy() for end in ("src", "dst"))
        if self.facts["sssp_weights"] == "file":
            frame["weight"] = frame[listed.weight]
        else:
            low, high = (u, v) if self.directed else (np.minimum(u, v), np.maximum(u, v))
            frame["weight"] = 1 + (7919 * low + 104729 * high) % 64
        if not self.directed and name in ("karate", "dolphins_s_loop", "dolphins_multi_edge"):  # lists both directions
            keep = pd.DataFrame({"a": np.minimum(u, v), "b": np.maximum(u, v)}).drop_duplicates().index
            frame = frame.loc[keep].reset_index(drop=True)
        self.frame = frame[["src", "dst", "weight"]]
        self.source = self.ids[position[type(self.ids[0])(self.facts["source_id"])]]

    def graph(self, **options) -> dg.Graph:
        vertices = pd.DataFrame({"id": self.ids})
        return dg.Graph.from_edges(self.frame, weight="weight", directed=self.directed, vertices=vertices, **options)

    def numbers(self, column: pd.Series) -> np.ndarray:
        """Ids as positions."""
        return column.map({identifier: i for i, identifier in enumerate(self.ids)}).to_numpy()


@cache
def real_graph(name: str) -> RealGraph:
    return RealGraph(name)
