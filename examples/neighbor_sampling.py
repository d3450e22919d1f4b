"""Mini-batches for a graph neural network, by GraphSAGE's sampling: dgraph samples, and any library that takes PyTorch
Geometric's format learns. Without PyTorch, this prints what a model would get."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import dgraph as dg
from dgraph.walks.neighbor_sample import NeighborSample


def batches(graph: dg.Graph, ids: np.ndarray, size: int, fanouts: list[int], epoch: int) -> Iterator[NeighborSample]:
    """All vertices in random order, `size` at a time, each time with other neighbours."""
    order = np.random.default_rng(epoch).permutation(ids)
    for start in range(0, len(order), size):
        yield dg.sample_neighbors(graph, order[start : start + size], fanouts, random_seed=epoch)


def to_geometric(sample: NeighborSample, features: np.ndarray) -> dict[str, object]:
    """What `torch_geometric.data.Data` takes. The row of a vertex in `features` is that of its id; with PyTorch,
    wrap the arrays in `torch.from_numpy`."""
    return {
        "x": features[sample.vertices],
        "edge_index": sample.edge_index,
        "n_id": sample.vertices,
        "batch_size": sample.num_seeds,
    }


def main(scale: int, size: int) -> None:
    graph = dg.rmat(scale=scale, edge_factor=16, seed=1, directed=False)
    ids = graph.vertices.compute().iloc[:, 0].to_numpy()
    features = np.random.default_rng(1).normal(size=(ids.max() + 1, 8))
    for epoch in range(2):
        for number, sample in enumerate(batches(graph, ids, size, [15, 10], epoch)):
            data = to_geometric(sample, features)
            means = np.zeros((len(sample.vertices), features.shape[1]))
            np.add.at(means, sample.edge_index[1], features[sample.vertices[sample.edge_index[0]]])
            if number == 0:
                print(f"epoch {epoch}, first batch: {sample}")
                print("  " + ", ".join(f"{name} {np.shape(one) or one}" for name, one in data.items()))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=int, default=14, help="2**scale vertices, 16 edges a vertex")
    options.add_argument("--size", type=int, default=1024, help="vertices in a batch")
    given = options.parse_args()
    main(given.scale, given.size)
