"""`dgraph explain PROGRAM`: what a vertex program communicates, and the kernels made of it."""

from __future__ import annotations

import json
import runpy
from typing import Any

import click

from dgraph.cli.command import Command, named
from dgraph.cli.options import FILE, as_json, operations
from dgraph.errors import OptionError


def _offered(context: click.Context, param: click.Parameter, begun: str) -> Any:
    """What the shell offers: operations, and where none begins so files."""
    return operations(context, param, begun) or FILE.shell_complete(context, param, begun)


@click.command("explain", cls=Command)
@click.argument("program", metavar="OP|FILE.py:CLASS", shell_complete=_offered)
@click.option("--target", default="cpu", show_default=True, type=click.Choice(["cpu", "cuda"]), help="Where they run.")
@as_json
def command(program: str, target: str, as_json: bool) -> None:
    """Show what a vertex program reads and sends, and the kernels for a target.

    \b
    Example:
      $ dgraph explain wcc
    """
    import dgraph as dg

    texts = {one.__name__: dg.explain(one, target=target) for one in _programs(program)}
    if as_json:
        for name, text in texts.items():
            click.echo(json.dumps({"program": name, "target": target, "text": text}))
        return
    click.echo("\n\n".join(texts.values()))


def _programs(name: str) -> list[type]:
    """The programs that a word stands for: the one of FILE.py:CLASS, or all that an operation may run."""
    import dgraph as dg

    if ":" in name:
        path, _, wanted = name.rpartition(":")
        try:
            found = runpy.run_path(path).get(wanted)
        except OSError as error:
            raise OptionError(f"{path} cannot be read: {error}") from error
        except Exception as error:
            raise OptionError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
        if not (isinstance(found, type) and issubclass(found, dg.VertexProgram)):
            raise OptionError(f"{path} has no vertex program {wanted!r}")
        return [found]
    name = named(name, more=", or FILE.py:CLASS")
    module = __import__(f"dgraph.ops.{name}", fromlist=["x"])
    known = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, dg.VertexProgram)]
    own = [one for one in known if one.__module__ == module.__name__]
    found = [*getattr(module, "PROGRAMS", {}).values(), *own]  # of PageRank, which have a file of their own
    if not found:
        raise OptionError(f"{name} is no vertex program: it has kernels of its own")
    return found
