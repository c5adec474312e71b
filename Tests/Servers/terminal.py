#!/usr/bin/python3
"""Runs a command on a terminal of its own.

The input is typed on the terminal, the output of the terminal is the output of this script, and the exit status of the
command is the status of this script. The end of the input hangs up the terminal, like closing its window.
"""
import os
import pty
import select
import signal
import sys


def main():
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.argv[1], sys.argv[1:])
    watched = [terminal, 0]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if terminal in ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            os.write(1, data)
        if 0 in ready:
            data = os.read(0, 65536)
            if data:
                os.write(terminal, data)
            else:
                watched.remove(0)
                os.kill(child, signal.SIGHUP)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
