"""How a command ends: one line per error, an exit code, and an orderly stop on Ctrl-C or SIGTERM.

Exit codes: 0 success; 1 the run failed, or a check found errors; 2 the command line or the input is invalid; 130
stopped by Ctrl-C; 143 stopped by SIGTERM. A stopped command first ends the workers that it started; its output files
are either complete or unchanged.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from dgraph.cli.say import say
from dgraph.errors import InputError, ProgramError, RoomError, StorageError

# Errors of the disk, which a different command line would not fix.
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
FAILED, REFUSED = 1, 2


class TerminatedBySignal(KeyboardInterrupt):
    """SIGTERM stops a run in the same way as Ctrl-C."""


def code_of(error: BaseException) -> int:
    """The exit code for an error: REFUSED if a different command line would help, otherwise FAILED."""
    disk_error = getattr(error.__cause__, "errno", None) in DISK_ERRORS
    refused = isinstance(error, InputError | ProgramError | StorageError | RoomError) and not disk_error
    return REFUSED if refused else FAILED


def error_text(error: BaseException) -> str:
    """The text of an error. For errors of the operating system it adds the file and what to do."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) or type(error).__name__
    if error.filename is not None:
        return f"{error.filename}: {error.strerror} (check the path, its permissions and the disk)"
    if error.errno in DISK_ERRORS:
        return f"cannot write to standard output: {error.strerror} (check the free space, or write to a file)"
    return str(error)


def run_and_exit(run: Callable[[], Any]) -> NoReturn:
    """Call `run` and end the process.

    The exit code is the integer that `run` returns, or 0. An error prints one line on standard error and sets the exit
    code.
    """
    try:
        with _terminable():
            code = run()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except click.UsageError as error:
        help_of = f" (see `{error.ctx.command_path} --help`)" if error.ctx is not None else ""
        code = _line(f"Error: {error.format_message().rstrip('.')}{help_of}", error.exit_code)
    except click.ClickException as error:
        code = _line(f"Error: {error.format_message()}", error.exit_code)
    except click.Abort as stop:
        number = signal.SIGTERM if isinstance(stop.__cause__, TerminatedBySignal) else signal.SIGINT
        code = _line("\nStopped." if sys.stderr.isatty() else "Stopped.", 128 + number)  # the terminal shows ^C
    except OSError as error:  # raised when printing a help text, for example
        code = _line(f"Error: {error_text(error)}", FAILED)
    sys.exit(code if isinstance(code, int) else 0)


def _line(text: str, code: int) -> int:
    """Print a line on standard error; returns the code."""
    say(text, err=True)
    return code


@contextmanager
def _terminable() -> Iterator[None]:
    """Within the block, SIGTERM raises `TerminatedBySignal` in the main thread, as Ctrl-C raises KeyboardInterrupt.

    Both wait until a running kernel returns. A second signal of either kind ends the process immediately.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise TerminatedBySignal

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    threading.Thread(target=_end_at_second, args=(reader,), name="dgraph-stops", daemon=True).start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(before)
        os.close(writer)  # this ends the thread


def _end_at_second(reader: int) -> None:
    """End the process at the second signal that stops it.

    The main thread may be inside a kernel, so this thread reads the signals from a pipe. Python writes one byte each.
    """
    stops = 0
    with os.fdopen(reader, "rb", buffering=0) as signals:
        while number := signals.read(1):
            stops += number[0] in (signal.SIGINT, signal.SIGTERM)
            if stops > 1:
                os._exit(128 + number[0])
