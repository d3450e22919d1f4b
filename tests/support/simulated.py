"""A process in which Numba simulates a CUDA device: the programs of `tests/support/cases.py` there, and on the CPU.

python simulated.py > one line of JSON: {program: what was wrong, empty if nothing}
"""

import json
import os
import sys
import warnings

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
sys.setswitchinterval(1e-4)  # barriers between threads of Python
warnings.simplefilter("ignore")  # words of 64 bits overflow, as they shall

import cases  # noqa: E402  (Numba reads its setting when it is imported)
import pandas as pd  # noqa: E402

import dgraph as dg  # noqa: E402
from dgraph.codegen.cuda.cuda_kernels import pushes  # noqa: E402
from dgraph.devices import device_vertex_arrays  # noqa: E402
from dgraph.factors import factor_updates  # noqa: E402
from dgraph.programs.analysis import analyse  # noqa: E402

device_vertex_arrays.PART_EDGES = 3  # edges: here, too, some have more
device_vertex_arrays.LARGE_MAIL = 1  # byte: partitions tell each other what is on the device


def wrong_with(name: str, directed: bool, direction: str) -> str:
    """Three rounds on two partitions, on both devices."""
    program, graph = cases.PROGRAMS[name], cases.graph_for(name, directed, parts=2)
    options = {"max_rounds": 3, "random_seed": cases.SEED}
    found = dg.run(graph, program, device="cuda", engine=dg.Gas(direction=direction), **options)
    try:
        pd.testing.assert_frame_equal(
            found.compute(), dg.run(graph, program, device="cpu", engine="gas", **options).compute(), rtol=1e-9
        )
    except AssertionError as error:
        return f"directed={directed}, {direction}: {error}"
    return "" if found.report.options["device"] == "cuda" else "did not run on the device"


def wrong_factors(update) -> str:
    """Two epochs, which the GPU computes alone."""
    graph, options = dg.ratings(users=20, items=10, ratings=120, rank=2, seed=1, parts=1), {"rank": 2, "epochs": 2}
    team = factor_updates.team
    factor_updates.team = lambda kernel, threads, *arrays, beside=(): team(
        kernel, 0 if beside else threads, *arrays, beside=beside
    )
    found = dg.factorize(graph, update=update, device="cuda", **options)
    factor_updates.team = team
    expected = dg.factorize(graph, update=update, device="cpu", **options)
    columns = ["rmse", "held_out"]
    try:
        pd.testing.assert_frame_equal(found.report[columns], expected.report[columns], rtol=1e-9)
    except AssertionError as error:
        return str(error)
    return "" if found.report["edges cuda"].min() > 0 else "did not run on the device"


if __name__ == "__main__":
    told = {f"factorize, {update}": wrong_factors(update) for update in ("least_squares", "gradient")}
    for name, program in cases.PROGRAMS.items():
        both = ("push", "pull") if pushes(analyse(program).phases[0]) else ("pull",)
        ways = both if program.kind == "accumulative" else ("auto",)
        told[name] = "; ".join(filter(None, (wrong_with(name, way != "pull", way) for way in ways)))
    sys.stdout.write(json.dumps(told))
