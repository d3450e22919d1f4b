"""Workers whose environment is not the client's."""

import os
import subprocess
import sys

import pytest
from distributed import Client, LocalCluster

import dgraph as dg
from dgraph.errors import RunError

WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dgraph":
            raise ModuleNotFoundError("No module named 'dgraph'", name=name)

sys.meta_path.insert(0, Without())
"""


def test_a_worker_without_dgraph_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1"]
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        subprocess.Popen([*command, cluster.scheduler_address], env=environment, stderr=subprocess.DEVNULL) as worker,
    ):
        try:
            client.wait_for_workers(1)
            (address,) = client.nthreads()
            for _ in range(2):
                with pytest.raises(
                    RunError, match=f"^dgraph is not installed on worker {address}: install dask-dgraph"
                ):
                    dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, client=client)
        finally:
            worker.kill()
