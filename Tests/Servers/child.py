"""What the scripts here share: orders in, reports out, and nothing left behind.

A script reads JSON from standard input, a line an order, and ends with its input: the pipe is held by the
process that started it, so the script ends when that process does, however it ends.
"""
import contextlib
import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import threading

_output = threading.Lock()


def options():
    """The first line of input."""
    return json.loads(sys.stdin.readline() or "{}")


def orders():
    """The lines of input that follow, until its end."""
    for line in sys.stdin:
        if line.strip():
            yield json.loads(line)


def report(**fields):
    """Writes one line of JSON."""
    with _output:
        print(json.dumps(fields), flush=True)


@contextlib.contextmanager
def temporary(parent="/tmp"):
    """A directory that is deleted at the end; its path below /tmp is short enough for sockets inside."""
    directory = tempfile.mkdtemp(prefix="imctl-", dir=parent)
    # SIGINT from the terminal reaches the whole group. The script ignores it, and ends at the end of its input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(0))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def die_with_parent():
    """For the `preexec_fn` of a child: it is killed when this script is (prctl PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # The child leaves the terminal's process group, so that Ctrl-C does not end the server too early.
    os.setpgid(0, 0)
