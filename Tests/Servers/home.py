#!/usr/bin/python3
"""A home directory for a program under test, which also ends every process that was started in it.

Answers {"home": PATH}. Answers each {"number": N} with {"number": N, "processes": [PID, …]}, the processes with this
home directory in their environment. At the end of its input it ends those processes and deletes the home directory.
"""
import os
import signal
import time

from child import options, orders, report, temporary


def processes(home):
    """Returns the ids of the processes whose HOME is this directory."""
    wanted = f"HOME={home}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                environment = file.read().split(b"\0")
            with open(f"/proc/{name}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if wanted in environment and state not in "ZX":
            found.append(int(name))
    return found


def end(home, patience=10):
    for which in (signal.SIGTERM, signal.SIGKILL):
        for process in processes(home):
            try:
                os.kill(process, which)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + patience
        while processes(home) and time.monotonic() < deadline:
            time.sleep(0.02)


def main():
    options()
    with temporary() as home:
        try:
            report(home=home)
            for order in orders():
                report(number=order["number"], processes=processes(home))
        finally:
            end(home)


if __name__ == "__main__":
    main()
