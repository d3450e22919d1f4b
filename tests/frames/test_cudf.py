"""Frames of cuDF: read by it, taken from it, and given back to it; by a stand-in that is as strict as the real one."""

import subprocess
import sys
import uuid

import cudf_on_cpu
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import Client, LocalCluster

import dgraph as dg
from dgraph.building.gpu_build import DeviceEdges
from dgraph.devices import probe
from dgraph.errors import DeviceError, IdError, OptionError, WeightError
from dgraph.io import lazy_edges
from dgraph.partition import adjacency

FRAME = pd.DataFrame({"src": [1, 7, 7, 9, 4], "dst": [7, 9, 1, 4, 4], "weight": [0.5, 2.0, 1.0, 3.0, 1.5]})


def written(folder, kind):
    path = folder / f"edges.{kind}"
    if kind == "parquet":
        FRAME.to_parquet(path, row_group_size=2)
    else:
        FRAME.to_csv(path, sep={"csv": ",", "tsv": "\t", "el": " "}[kind], header=kind != "el", index=False)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "el"])
def test_files_are_read_by_cudf_and_results_go_back_to_it(kind, tmp_path, cudf, monkeypatch):
    path = written(tmp_path, kind)
    monkeypatch.delattr(lazy_edges, "text_block")  # which reads what cuDF cannot
    blocks = {} if kind == "parquet" else {"format": dg.Text(block_size=16)}
    graph = dg.read_edges(path, weight=2, device="cuda", parts=2, **blocks)
    expected = dg.read_edges(path, weight=2)
    found, ours = dg.sssp(graph, 1), dg.sssp(expected, 1)
    pd.testing.assert_frame_equal(found.compute(), ours.compute())
    there = found.frame.compute()
    assert type(there) is cudf_on_cpu.DataFrame
    here = there.to_pandas().sort_values("vertex", ignore_index=True)
    pd.testing.assert_frame_equal(here, ours.compute())
    edges = graph.edges.compute().sort_values(list(graph.edges.columns), ignore_index=True)
    assert edges.to_numpy().tolist() == FRAME.sort_values(["src", "dst"]).to_numpy().tolist()
    assert type(ours.to_cudf().compute()) is cudf_on_cpu.DataFrame and type(ours.frame.compute()) is pd.DataFrame


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_single_gpu_builds_the_graph_that_it_has_read(kind, tmp_path, cudf, monkeypatch):
    built, adjacency = [], DeviceEdges.adjacency
    monkeypatch.setattr(
        DeviceEdges, "adjacency", lambda *given, **how: built.append(adjacency(*given, **how)) or built[-1]
    )
    path, blocks = written(tmp_path, kind), {} if kind == "parquet" else {"format": dg.Text(block_size=16)}
    graph, expected = (dg.read_edges(path, weight=2, **how) for how in ({"device": "cuda", **blocks}, {}))
    for one in (graph, expected):
        one.partitioned("out", ["weight"])
    (found,), (other,) = graph.partitions.held, expected.partitions.held
    assert found.out is built[0] and len(built) == 1
    assert found.out.neighbours.tolist() == other.out.neighbours.tolist()
    assert found.out.columns["weight"].tolist() == other.out.columns["weight"].tolist()
    assert sorted(graph.edges.compute()["weight"]) == sorted(FRAME["weight"]) and graph.validate()


def test_cudf_and_dask_cudf_frames_give_results_of_the_same_kind(cudf):
    there = cudf_on_cpu.from_pandas(FRAME)
    pieces = [delayed(cudf_on_cpu.from_pandas)(FRAME.iloc[a:z]) for a, z in ((0, 2), (2, 5))]
    expected = dg.wcc(dg.Graph.from_edges(FRAME), device="cpu").compute()
    for frame in (there, cudf_on_cpu.from_delayed(pieces, meta=there)):
        graph = dg.Graph.from_edges(frame, weight="weight", parts=2)
        result = dg.wcc(graph, device="cpu")
        assert type(result.frame.compute()) is cudf_on_cpu.DataFrame
        pd.testing.assert_frame_equal(result.compute(), expected)
        assert len(graph.edges.compute()) == len(FRAME)


def test_any_result_becomes_a_cudf_frame(cudf):
    names = [uuid.UUID(int=number) for number in range(4)]
    graph = dg.Graph.from_edges({"src": names[:3], "dst": [names[1], names[1], names[3]]})
    for result in (dg.bfs(graph, names[0]), dg.pagerank(graph, personalization=[{names[0]: 1}, {names[2]: 1}])):
        there = result.to_cudf().compute().to_pandas()
        assert there["vertex"].tolist() == list(map(str, names))
        assert len(there.columns) == len(result.compute().columns)


def test_on_a_cluster_workers_with_a_gpu_read_and_sort(tmp_path, cudf, monkeypatch):
    path = written(tmp_path, "parquet")
    expected = dg.degrees(dg.read_edges(path, repeats="min"), device="cpu").compute()
    monkeypatch.setattr(adjacency, "build", None)  # the CPU's
    monkeypatch.setattr(probe, "missing_requirements", lambda *packages: ())
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        graph = dg.read_edges(path, device="cuda", client=client, repeats="min")
        found = dg.degrees(graph, device="cpu")
        pd.testing.assert_frame_equal(found.compute(), expected)
        assert len(found.frame.compute(client)) == graph.num_vertices


@pytest.mark.parametrize(
    ("lines", "error", "says"),
    [
        ("1,2,3\n4,x,6\n", IdError, "line 2"),
        ("1,2,3\n4,,6\n", IdError, "line 2"),
        ("1,2,3\n4,5,heavy\n", WeightError, "line 2"),
    ],
)
def test_errors_in_a_file_are_those_of_the_cpu_reader(lines, error, says, tmp_path, cudf):
    (tmp_path / "bad.csv").write_text(lines)
    with pytest.raises(error, match=says):
        dg.read_edges(tmp_path / "bad.csv", weight=2, id_type="int64", device="cuda").num_edges  # noqa: B018


@pytest.mark.parametrize(
    "lines", ["1,2\n# a remark\n3,4\n", "1,2\n3,04\n", "1  2\n 3 4\n", "1 2\n3\t4\n", "1\t2\n3\t4 \n"]
)
def test_comments_and_unusual_numbers_are_read_as_by_the_cpu_reader(lines, tmp_path, cudf):
    (tmp_path / "odd.csv").write_text(lines)
    found, expected = (dg.read_edges(tmp_path / "odd.csv", device=device) for device in ("cuda", "cpu"))
    assert dg.degrees(found, device="cpu").compute().equals(dg.degrees(expected, device="cpu").compute())


def test_reading_on_a_gpu_without_cudf_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "gpus", lambda: ())
    monkeypatch.setattr(probe, "_installed", lambda module: False)
    path = written(tmp_path, "parquet")
    with pytest.raises(DeviceError, match=r"this process lacks a GPU .*cudf and the package dask-cudf.*dgraph\[cuda12"):
        dg.read_edges(path, device="cuda")
    with pytest.raises(DeviceError, match=r'GPU; or choose device="cpu"$'):  # there is no device="auto" of readers
        dg.read_edges(path, device="cuda")
    with pytest.raises(DeviceError, match="a result as a cuDF frame is not available here"):
        dg.wcc(dg.read_edges(path)).to_cudf()
    with pytest.raises(OptionError, match="device='gpu' is not known; did you mean cuda\\? choose one of cpu, cuda"):
        dg.read_edges(path, device="gpu")
    for options in ({"device": "cuda", "format": dg.Parquet(lazy=False)}, {"device": "cuda", "format": "metis"}):
        with pytest.raises(OptionError, match="device="):
            dg.read_edges(path, **options)


def test_imports_and_runs_on_cpus_do_not_import_cudf():
    text = "import sys, dgraph as dg; dg.wcc(dg.grid(rows=3, cols=3, parts=2), device='auto').compute()"
    text += "; there = {'numba.cuda', 'cupy', 'cudf', 'dask_cudf', 'pylibcugraph', 'rmm'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"{text}; assert not there, there"], check=True)
