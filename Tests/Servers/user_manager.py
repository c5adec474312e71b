#!/usr/bin/python3
"""A real `systemd --user` on a machine without a running systemd, in its own namespaces and control groups.

Reads {"home": PATH} and answers {"id": PID} when it is ready: a process whose mount and process id namespaces `nsenter`
can enter. Its runtime directory there is /run/user/UID. It ends with all of its services when its input ends.
"""
import os
import signal
import subprocess
import time

from child import die_with_parent, options, report

INSIDE = """
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
# The first process of a namespace would have to be the system's manager.
/lib/systemd/systemd --user --log-target=console
"""


def control_groups():
    """Creates a control group in every hierarchy that systemd divides, and returns the groups."""
    groups = []
    for root in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(f"{root}/cgroup.procs"):
            group = f"{root}/imctl-test-{os.getpid()}"
            os.mkdir(group)
            groups.append(group)
    return groups


def remove(groups):
    for group in groups:
        for directory, _, _ in os.walk(group, topdown=False):
            for _ in range(100):
                try:
                    os.rmdir(directory)
                    break
                except OSError:
                    # A process is still ending.
                    time.sleep(0.02)


def main():
    home = options()["home"]
    runtime = f"/run/user/{os.getuid()}"
    environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_RUNTIME_DIR": runtime}
    groups = control_groups()

    def enter():
        die_with_parent()
        for group in groups:
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write(str(os.getpid()))

    unshare = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", INSIDE],
        env=environment, preexec_fn=enter, stdin=subprocess.DEVNULL)
    try:
        children = f"/proc/{unshare.pid}/task/{unshare.pid}/children"
        while unshare.poll() is None:
            with open(children) as file:
                # The only child of unshare.
                found = file.read().split()
            if found and os.path.exists(f"/proc/{found[0]}/root{runtime}/systemd/private"):
                report(id=int(found[0]))
                break
            time.sleep(0.02)
        while unshare.poll() is None and os.read(0, 4096):
            pass
    finally:
        unshare.kill()
        unshare.wait()
        remove(groups)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os.close(0))
    main()
