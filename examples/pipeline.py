"""A pipeline on one client: transactions in Parquet, cleaned by Dask, ranked by dgraph, joined and written again.

Frames stay lazy from end to end; this process never receives more than a few rows.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import dgraph as dg


def make_transactions(folder: Path, files: int = 4, rows: int = 5000) -> None:
    """Write what another system would provide: who paid whom, how much, and whether the payment went through."""
    rng = np.random.default_rng(1)
    names = np.array([f"acct-{number:04d}" for number in range(1000)])
    for file in range(files):
        payer, payee = names[rng.zipf(1.6, (2, rows)) % len(names)]
        frame = pd.DataFrame({"payer": payer, "payee": payee, "amount": rng.gamma(2, 50, rows).round(2)})
        frame["status"] = rng.choice(["done", "done", "done", "failed"], rows)
        folder.mkdir(parents=True, exist_ok=True)
        frame.to_parquet(folder / f"day-{file}.parquet")
    pd.DataFrame({"account": names, "country": rng.choice(["AT", "BE", "CH"], len(names))}).to_parquet(
        folder.parent / "accounts.parquet"
    )


def rank_accounts(folder: Path, client: Client) -> Path:
    """Read Parquet, clean the data, compute PageRank, join the ranks with the accounts, and write Parquet."""
    transactions = dd.read_parquet(folder / "*.parquet")
    done = transactions[(transactions["status"] == "done") & (transactions["payer"] != transactions["payee"])]

    graph = dg.Graph.from_edges(done, source="payer", destination="payee", weight="amount", client=client)
    ranks = dg.pagerank(graph, tol=1e-9)

    accounts = dd.read_parquet(folder.parent / "accounts.parquet")
    joined = ranks.frame.merge(accounts, left_on="vertex", right_on="account", how="left").drop(columns="account")
    client.compute(joined.to_parquet(folder.parent / "ranks", compute=False)).result()
    return folder.parent / "ranks"


def main(folder: Path, cluster: str | None) -> None:
    make_transactions(folder / "transactions")
    here = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with nullcontext(cluster) if cluster else LocalCluster(**here) as where, Client(where) as client:
        written = rank_accounts((folder / "transactions").absolute(), client)
    best = pd.read_parquet(written).nlargest(5, "pagerank")
    print(best.to_string(index=False))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, help="where the files of the example go")
    options.add_argument("--cluster", help="address of a Dask scheduler; by default two workers on this machine")
    given = options.parse_args()
    main(given.folder, given.cluster)
