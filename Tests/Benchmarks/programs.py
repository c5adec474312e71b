"""The code that the benchmarks share: the servers of Tests/Servers, and commands that are timed from outside."""
import json
import os
import shlex
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = os.path.join(HERE, "..", "Servers")
PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret", "carol": "carol-secret"}
DOMAIN = "im.example"


class Script:
    """A script of Tests/Servers, which ends together with its child processes when its input ends."""

    def __init__(self, name, log, **options):
        self.process = subprocess.Popen(["/usr/bin/python3", "-u", os.path.join(SERVERS, name)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        print(json.dumps(options), file=self.process.stdin, flush=True)
        self.answer = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a test server or counterpart did not start")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Command:
    """A command line that is run many times, with the number of the run in place of the word ROUND."""

    def __init__(self, title, words, environment, stdin="/dev/null", status=0):
        self.title, self.words, self.environment, self.status = title, words, environment, status
        self.files = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
                      (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                      (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]
        self.walls, self.processors = [], []

    def run(self):
        words = [word.replace("ROUND", str(len(self.walls))) for word in self.words]
        begin = time.perf_counter()
        process = os.posix_spawn(words[0], words, self.environment, file_actions=self.files)
        _, status, usage = os.wait4(process, 0)
        self.walls.append(time.perf_counter() - begin)
        self.processors.append(usage.ru_utime + usage.ru_stime)
        if os.waitstatus_to_exitcode(status) != self.status:
            raise SystemExit(f"{shlex.join(self.words)}: status {os.waitstatus_to_exitcode(status)}")

    def once(self):
        self.run()
        self.walls.pop()
        self.processors.pop()


def processor_seconds(process):
    """Returns the CPU time of all threads of a process to the nanosecond (clock_getcpuclockid(3))."""
    return time.clock_gettime((~process << 3) | 2)


def memory(process):
    """Returns the resident and the proportional set size of a process in MB."""
    with open(f"/proc/{process}/smaps_rollup") as file:
        sizes = dict(line.split(":") for line in file if ":" in line and "kB" in line)
    return tuple(int(sizes[name].split()[0]) / 1024 for name in ("Rss", "Pss"))
