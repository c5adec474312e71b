"""The code that the scripts in this directory share: orders, reports and the removal of everything at the end.

A script reads JSON from standard input, with one order on each line, and ends when its input ends. The pipe belongs to
the process that started the script, so the script ends together with that process, however it ends.
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
    """Returns the first line of the input."""
    return json.loads(sys.stdin.readline() or "{}")


def orders():
    """Yields the following lines of the input until it ends."""
    for line in sys.stdin:
        if line.strip():
            yield json.loads(line)


def report(**fields):
    """Writes one line of JSON."""
    with _output:
        print(json.dumps(fields), flush=True)


@contextlib.contextmanager
def temporary(parent="/tmp"):
    """Provides a directory that is deleted at the end. Its path below /tmp is short enough for sockets."""
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
    """Makes a child end together with this script (prctl PR_SET_PDEATHSIG), as a `preexec_fn`."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # The child leaves the terminal's process group, so that Ctrl-C does not end the server too early.
    os.setpgid(0, 0)
