"""What each operation does where graphs are awkward, and that its programs keep the laws."""

import importlib
import pkgutil
from functools import partial
from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors, ops
from dgraph.codegen.descent import descent_kernel
from dgraph.devices.probe import CPU, CUDA
from dgraph.engines.descent import block_options
from dgraph.keywords import NAMES_OF_DEVICES, NAMES_OF_ENGINES
from dgraph.ops import bfs, k_core, katz, sssp, topological_generations, wcc
from dgraph.options import DIRECTIONS, KINDS, MODES, OPERATORS, ORDERS
from dgraph.programs import laws
from dgraph.programs.analysis import analyse
from dgraph.programs.fixed_point import try_fixed_point
from dgraph.programs.law_trials import try_laws
from dgraph.programs.program import Parameter, VertexProgram

ROWS = [
    ("a", "b", 0.0),
    ("b", "c", 0.0),
    ("c", "b", 0.0),
    ("c", "a", 0.0),
    ("a", "d", 2.0),
    ("d", "e", 0.0),
    ("x", "y", 1.0),
]
FRAME = pd.DataFrame(ROWS, columns=["src", "dst", "weight"])
VERTICES = pd.DataFrame({"id": ["alone"]})


@pytest.fixture(params=[1, 3])
def graph(request):
    return dg.Graph.from_edges(FRAME, weight="weight", vertices=VERTICES, parts=request.param)


@pytest.mark.parametrize(
    "program",
    [bfs.BreadthFirst(source=0), sssp.ShortestPaths(), sssp.Hops(), wcc.Components()],
    ids=lambda program: type(program).__name__,
)
def test_programs_keep_the_laws(program):
    laws.check_program(program)


def programs_of_operations():
    """One of each kind of program, with 1 for parameters that have no default."""
    modules = [importlib.import_module(f"dgraph.ops.{one.name}") for one in pkgutil.iter_modules(ops.__path__)]
    kinds = {
        kind: None
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, VertexProgram) and kind.__module__ == module.__name__
    }
    for kind in kinds:
        needed = [one for one in kind.fields.values() if isinstance(one, Parameter) and one.default is None]
        yield kind(**{one.name: 1 if one.shape is None else [1, 0] for one in needed})


@pytest.mark.parametrize("program", list(programs_of_operations()), ids=lambda program: type(program).__name__)
def test_programs_pass_the_trials_of_programs_that_users_write(program):
    if isinstance(program, katz.Gains):
        pytest.skip("it counts how often a vertex has sent, which ends a run but is no part of the answer")
    if isinstance(program, topological_generations.TopologicalGenerations):
        pytest.skip("a vertex hears along each of its edges once, and the trials let it hear more")
    if program.kind == "accumulative":
        try_laws(program, analyse(program))
    else:
        try_fixed_point(program)


def test_the_merge_of_k_core_obeys_the_laws():
    laws.check_merge(k_core.KCore(k=2).phases[0].messages[0].merge, 1, 2, 3, 0)


def test_predecessors_along_zero_length_edges_lead_to_the_source(graph):
    """Predecessors end at the source even where edges of length 0 form a cycle."""
    found = dg.sssp(graph, "a").compute().set_index("vertex")
    assert found["distance"].to_dict() == {
        "a": 0, "alone": np.inf, "b": 0, "c": 0, "d": 2, "e": 2, "x": np.inf, "y": np.inf
    }  # fmt: skip
    before = found["predecessor"].dropna().to_dict()
    assert before == {"b": "a", "c": "b", "d": "a", "e": "d"}


def test_several_sources_give_the_nearest_distance(graph):
    found = dg.sssp(graph, ["d", "x"]).compute().set_index("vertex")
    assert found["distance"].replace(np.inf, -1).to_dict() == {
        "a": -1, "alone": -1, "b": -1, "c": -1, "d": 0, "e": 0, "x": 0, "y": 1
    }  # fmt: skip
    assert found["predecessor"].dropna().to_dict() == {"e": "d", "y": "x"}


def test_without_weights_an_edge_is_one_step():
    graph = dg.Graph.from_edges(FRAME[["src", "dst"]])
    steps, levels = (op(graph, "a").compute() for op in (dg.sssp, dg.bfs))
    pd.testing.assert_frame_equal(steps, levels)


@pytest.mark.parametrize("value", [FRAME, np.array(["gas", "bsp"]), pd.NA], ids=["frame", "array", "NA"])
def test_frames_and_arrays_as_options_are_refused_with_their_type_and_the_choices(value):
    """Before anybody asks whether it is "auto", which such a value answers with an error of its own."""
    graph = dg.Graph.from_edges(FRAME)
    words = {"engine": f"{NAMES_OF_ENGINES[-1]}.*dg.Gas", "device": f"{CUDA}.*dg.Cuda", "daemons": "'cuda'"}
    words |= {"progress": "True, False"}
    for operation, name in product((dg.wcc, dg.pagerank, dg.lcc), ("engine", "device")):
        with pytest.raises(errors.OptionError, match=f"{name}=<{type(value).__name__}> .*{words[name]}"):
            operation(graph, **{name: value})
    for name, choice in words.items():
        with pytest.raises(errors.OptionError, match=f"{name}=<{type(value).__name__}> .*{choice}"):
            dg.sssp(graph, "a", **{name: value})
    parts = {
        dg.Gas: {"direction": DIRECTIONS[-1], "deterministic": "False", "optimizations": "dg.Optimizations"},
        dg.BulkAsync: {"direction": DIRECTIONS[-1], "local_rounds": "integer", "optimizations": "dg.Optimizations"},
        dg.BlockDescent: {
            **{"order": ORDERS[-1], "mode": MODES[-1], "operator": OPERATORS[-1], "block_size": '"auto"'},
        },
        dg.Optimizations: {"lazy_upload": "False"},
        partial(dg.Daemons, "own process"): {"block": '"auto"', "cache": "4 GiB"},
        dg.Cuda: {"block": '"auto"', "memory": "4 GiB"},
    }
    for option, choices in parts.items():
        for name, choice in choices.items():
            with pytest.raises(errors.OptionError, match=f"{name}=<{type(value).__name__}> .*{choice}"):
                option(**{name: value})
    for name in ("policy", "repeats"):
        with pytest.raises(errors.OptionError, match=f"{name}=<{type(value).__name__}> is not known; choose one of"):
            dg.Graph.from_edges(FRAME, **{name: value})


def test_docstrings_list_the_words_of_an_option():
    without_cugraph = [name for name in NAMES_OF_ENGINES if name != "cugraph"]
    listed = {
        dg.run: (*without_cugraph, *NAMES_OF_DEVICES),
        dg.Gas: DIRECTIONS,
        dg.Bsp: DIRECTIONS,
        dg.BlockDescent: (*ORDERS, *MODES, *OPERATORS),
        dg.Daemons: KINDS,
    }
    for described, words in listed.items():
        assert [word for word in words if f'"{word}"' not in described.__doc__] == [], described
    assert set(NAMES_OF_DEVICES) == {"auto", CPU, CUDA}
    assert set(ORDERS) == {"auto", *block_options.ORDERS} and set(MODES) == set(block_options.MODES)
    assert set(OPERATORS) == {"auto", *descent_kernel.OPERATORS}


def test_a_negative_cycle_is_refused():
    graph = dg.Graph.from_edges(FRAME.assign(weight=[1, 2, -3, 1, 1, 1, 1]), weight="weight", parts=2)
    with pytest.raises(errors.WeightError, match="sum to less than 0"):
        dg.sssp(graph, "a")


@pytest.mark.parametrize("directed", [True, False])
def test_pagerank_matches_networkx(directed):
    rng = np.random.default_rng(3)
    edges = np.unique(rng.integers(0, 60, (150, 2)), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]] if directed else edges[edges[:, 0] < edges[:, 1]]
    frame = pd.DataFrame(edges, columns=["src", "dst"])
    peer = nx.from_pandas_edgelist(frame, "src", "dst", create_using=nx.DiGraph if directed else nx.Graph)
    peer.add_node(99)
    graph = dg.Graph.from_edges(frame, directed=directed, vertices=pd.DataFrame({"id": [99]}), parts=2)
    jumps = {int(frame["src"][0]): 1.0, 99: 3.0}
    for options in ({}, {"personalization": jumps}):
        found = dg.pagerank(graph, alpha=0.9, tol=1e-12, max_iter=1000, **options).compute()
        expected = nx.pagerank(peer, alpha=0.9, tol=1e-12, max_iter=1000, **options)
        np.testing.assert_allclose(found["pagerank"], [expected[v] for v in found["vertex"]], rtol=1e-5, atol=1e-8)
        assert found["pagerank"].sum() == pytest.approx(1)


def test_columns_are_those_of_the_contract(graph):
    columns = {
        "pagerank": dg.pagerank(graph),
        "distance predecessor": dg.bfs(graph, "a"),
        "component": dg.wcc(graph),
        "label": dg.cdlp(graph),
        "in_core": dg.k_core(graph, 2),
    }
    for names, result in columns.items():
        assert list(result.compute()) == list(result.frame.columns) == ["vertex", *names.split()]
        assert result.compute()["vertex"].tolist() == ["a", "alone", "b", "c", "d", "e", "x", "y"]
    assert list(dg.sssp(graph, "a").compute()) == ["vertex", "distance", "predecessor"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: dg.pagerank(g, alpha=2), "alpha=2"),
        (lambda g: dg.pagerank(g, max_iter=0), "max_iter=0"),
        (lambda g: dg.pagerank(g, personalization={"a": 0}), "must be finite and non-negative"),
        (lambda g: dg.cdlp(g, max_iter=0), "max_iter=0"),
        (lambda g: dg.k_core(g, -1), "k=-1"),
        (lambda g: dg.bfs(g, "nobody"), "no vertex 'nobody'"),
        (lambda g: dg.sssp(g, ["a", "nobody"]), "no vertex 'nobody'"),
        (lambda g: dg.sssp(g, [["a"]]), r"contains \['a'\], which is not a vertex"),
        (lambda g: dg.cdlp(g, max_iter=10**30), "max_iter=10+: expected an int64"),
    ],
)
def test_options_are_checked(graph, call, words):
    with pytest.raises(errors.InputError, match=words):
        call(graph)


@pytest.mark.parametrize("vertex", [True, 1.0, np.bool_(True)])
def test_values_that_are_not_vertex_ids_are_refused(vertex):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1], "dst": [1, 2]}))
    for call in (dg.bfs, dg.sssp, partial(dg.bfs, source=0, target=vertex), partial(dg.sssp, source=0, target=vertex)):
        given = () if isinstance(call, partial) else (vertex,)
        with pytest.raises(errors.InputError, match=r"expected a vertex|is not an id of this graph"):
            call(graph, *given)


def test_every_program_of_an_operation_bears_its_name():  # so that no attribute of the vertices enters it
    pending = [dg.VertexProgram]
    while pending:
        pending += (subclasses := pending.pop().__subclasses__())
        for program in subclasses:
            if program.__module__.startswith("dgraph.ops."):
                assert program.operation in dg.OPERATIONS, program
