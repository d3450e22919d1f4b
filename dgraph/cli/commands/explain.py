"""`dgraph explain PROGRAM`: show what a vertex program communicates, and on request its kernels."""

from __future__ import annotations

import json
import runpy
from typing import Any

import click

from dgraph.cli.command import Command, operation_name
from dgraph.cli.options import FILE, as_json, complete_operations
from dgraph.cli.say import say
from dgraph.errors import OptionError


def _complete(context: click.Context, param: click.Parameter, begun: str) -> Any:
    """Complete the names of operations or, if none matches, of files."""
    return complete_operations(context, param, begun) or FILE.shell_complete(context, param, begun)


@click.command("explain", cls=Command)
@click.argument("program", metavar="OP|FILE.py:CLASS", shell_complete=_complete)
@click.option(
    "--target",
    default="cpu",
    type=click.Choice(["cpu", "cuda"]),
    help="Device that runs the kernels (cuda is experimental).",
)
@click.option("--kernels", is_flag=True, help="Also print the kernels that are generated from the program.")
@as_json
def command(program: str, target: str, kernels: bool, as_json: bool) -> None:
    """Show what a vertex program sends, merges and keeps; with --kernels also the kernels generated from it.

    \b
    Example:
      $ dgraph explain wcc
    """
    import dgraph as dg

    texts = {one.__name__: dg.explain(one, target=target, kernels=kernels) for one in _programs(program)}
    if as_json:
        for name, text in texts.items():
            say(json.dumps({"program": name, "target": target, "text": text}))
        return
    say("\n\n".join(texts.values()))


def _programs(name: str) -> list[type]:
    """The program in FILE.py:CLASS, or all programs of an operation."""
    import dgraph as dg
    from dgraph.runs.explanations import programs_of

    if ":" in name:
        path, _, class_name = name.rpartition(":")
        try:
            program = runpy.run_path(path).get(class_name)
        except OSError as error:
            raise OptionError(f"cannot read {path}: {error}") from error
        except Exception as error:
            raise OptionError(f"cannot run {path}: {type(error).__name__}: {error}") from error
        if not (isinstance(program, type) and issubclass(program, dg.VertexProgram)):
            raise OptionError(f"{path} has no vertex program {class_name!r}")
        return [program]
    return programs_of(operation_name(name, more=", or FILE.py:CLASS"))
