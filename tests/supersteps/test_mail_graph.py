"""Without plugins: mail as edges of the task graph. The same answers, and no step is ever taken twice."""

import pickle

import pytest
from cases import PROGRAMS, SEED, check, graph_for
from distributed import Client
from distributed.protocol.pickle import dumps
from mixing import check as check_mixing
from mixing import mixing, start

import dgraph as dg
from dgraph.errors import RunError
from dgraph.exchange.mail import Route
from dgraph.keywords import ENGINE_VALUES
from dgraph.partition.policies import POLICY_NAMES
from dgraph.supersteps.mail_graph import MailExchange, deliver_task, finish_task, start_task, step_task
from dgraph.supersteps.run_steps import run_steps

CASES = [
    (
        name,
        ("bsp", "gas")[i % 2],
        (2, 3, 1, 8)[i % 4],
        POLICY_NAMES[i % len(POLICY_NAMES)],
        bool(i % 3) or name == "Matching",
    )
    for i, name in enumerate(PROGRAMS)
]


@pytest.mark.parametrize(("name", "engine", "parts", "policy", "directed"), CASES)
def test_the_graph_exchange_matches_the_reference(client, name, engine, parts, policy, directed):
    graph = graph_for(name, directed, parts=parts, policy=policy, client=client)
    how = ENGINE_VALUES[engine](optimizations=dg.Optimizations(direct_exchange=False))
    result = dg.run(graph, PROGRAMS[name], engine=how, random_seed=SEED)
    check(name, directed, result)
    assert result.report.options["exchange"] == "graph"


def test_the_graph_exchange_is_chosen_where_plugins_cannot_be_installed(cluster, client, monkeypatch):
    def refuse(*args, **kwargs):
        raise ValueError("plugins are not for you")

    assert run_steps(mixing(1), start(2), client=client).exchange == "workers"
    with Client(cluster, set_as_default=False) as other:
        monkeypatch.setattr(other, "register_plugin", refuse)
        outcome = run_steps(mixing(3), start(5), client=other)
        assert outcome.exchange == "graph"
        check_mixing([future.result() for future in outcome.results], 5)
        with pytest.raises(RunError, match=r"not for you.*dg\.Optimizations\(direct_exchange=False\)"):
            run_steps(mixing(3), start(5), client=other, exchange="workers")


@pytest.fixture
def ends():
    """Both ends of a run, after superstep 0."""
    route = Route("run", ("a", "b"), (0, 0, 1, 1))
    ends = [MailExchange(route, worker) for worker in (0, 1)]
    for end in ends:
        start_task(end, dumps(mixing(3)), start(4)[2 * end.worker :][:2])
    return ends, [step_task(end, 0, []) for end in ends]


def test_a_task_that_dask_repeats_is_refused(ends):
    (a, b), mail = ends
    for repeated in (
        lambda: step_task(a, 0, mail),
        lambda: step_task(a, 2, mail),
        lambda: start_task(a, b"", []),
        lambda: finish_task(MailExchange(a.route, 0), 1),
    ):
        with pytest.raises(RunError, match=r"repeated a task.*run again"):
            repeated()
    for _ in range(2):  # nothing is changed by mail that comes twice
        assert deliver_task(b, mail) is b.last_token
    deliver_task(a, mail)
    mail = []  # a chunk has ended: the next begins without
    for round in (1, 2, 3):
        mail = [step_task(end, round, mail) for end in (a, b)]
    check_mixing([finish_task(end, 4) for end in (a, b)], 4)


def test_the_state_does_not_travel(ends):
    (a, _), _ = ends
    with pytest.raises(RunError, match="state of run run cannot leave a"):
        pickle.dumps(a)


def test_a_sum_during_a_step_needs_the_plugins(ends):
    with pytest.raises(RunError, match="not available with direct_exchange=False"):
        ends[0][0].sum([1.0])
