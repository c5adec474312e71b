"""The parties of the chaos benchmarks: an imctl with its own home directory, its `watch`, and a counterpart."""
import datetime
import json
import os
import shutil
import sqlite3
import subprocess
import threading
import time

from programs import Script

PATIENCE = 120
# With their default storage, both servers read the whole archive for every page of it.
SQLITE = {
    "prosody13": {"extraLines": ['storage = { archive = "sql" }',
                                 'sql = { driver = "SQLite3", database = "archive.sqlite" }']},
    "ejabberd24": {"extraLines": ["sql_type: sqlite", "sql_database: @DIRECTORY@/archive.sqlite"],
                   "extraModules": ["mod_mam: {default: always, db_type: sql}"]},
}


def spans(numbers):
    """Writes consecutive numbers as spans, of which at most the first twenty."""
    found = []
    for number in numbers:
        if found and isinstance(number, int) and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in found[:20])


class Trace:
    """A record of the events of a run, used to find the cause of a lost message."""

    def __init__(self):
        self.lines = []

    def __call__(self, what, /, **fields):
        self.lines.append(f"{datetime.datetime.now():%H:%M:%S.%f} {what} {fields}")

    def keep(self, directory, home):
        shutil.copytree(home, directory, dirs_exist_ok=True, ignore_dangling_symlinks=True,
                        ignore=lambda _, names: [name for name in names if name.endswith(".sock")])
        with open(os.path.join(directory, "trace"), "w") as file:
            print(*self.lines, sep="\n", file=file)


trace = Trace()


class Listener:
    """A script whose reports are recorded as they arrive."""

    def __init__(self, name, log, **options):
        self.script = Script(name, log, **options)
        self.answer = self.script.answer
        self.reports, self.number = [], 0
        self.news = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.script.process.stdout:
            with self.news:
                self.reports.append(json.loads(line))
                if "fired" in self.reports[-1] or "connection" in self.reports[-1]:
                    trace("link", **self.reports[-1])
                self.news.notify_all()

    def order(self, **fields):
        self.number += 1
        print(json.dumps({**fields, "number": self.number}), file=self.script.process.stdin, flush=True)

    def close(self):
        self.script.__exit__()


class Watch:
    """A running `imctl watch`, which is restarted from the last cursor whenever its agent has ended."""

    def __init__(self, imctl, cursor=None):
        self.imctl, self.cursor, self.is_over = imctl, cursor, False
        self.bodies, self.synced, self.gaps = {}, [], 0
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        while not self.is_over:
            since = [] if self.cursor is None else ["--since", str(self.cursor)]
            self.process = self.imctl.start("watch", "--events", "state,message",
                                            "--json", *since)
            for line in self.process.stdout:
                self.take(json.loads(line))
            self.process.wait()
            time.sleep(0.05)

    def take(self, event):
        if self.cursor is not None and event["cursor"] <= self.cursor:
            return
        if event["event"] == "gap":
            self.gaps += 1
        elif event["event"] == "message":
            # The cursor from which `watch` continues. Only events that are replayed with --since count.
            self.cursor = event["cursor"]
            if event["direction"] == "in":
                self.bodies.setdefault(event["body"], []).append(event["cursor"])
                trace("told", body=event["body"], cursor=event["cursor"], delayed=event["delayed"])
        elif event["event"] == "state":
            trace("state", **event)
            if event["state"] == "syncOK":
                self.synced.append(time.time())


class IMCTL:
    def __init__(self, executable, log):
        self.executable = executable
        self.home = Script("home.py", log)
        home = self.home.answer["home"]
        self.log = log
        self.environment = {"HOME": home, "XDG_CONFIG_HOME": home + "/.config", "PATH": os.environ["PATH"],
                            "XDG_STATE_HOME": home + "/.local/state", "LANG": "C.UTF-8"}

    def run(self, *words, stdin=""):
        return subprocess.run([self.executable, *words], env=self.environment, input=stdin, text=True,
                              capture_output=True, check=False)

    def start(self, *words):
        return subprocess.Popen([self.executable, *words], env=self.environment, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=self.log)

    def agent(self):
        answer = self.run("agent", "status", "--json")
        return json.loads(answer.stdout).get("pid") if answer.returncode == 0 else None

    def stored(self, body):
        path = os.path.join(self.environment["XDG_STATE_HOME"], "imctl/imctl.sqlite")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            return database.execute("SELECT cursor, time, archiveID, isDelayed FROM messages WHERE body = ?", (body,)).fetchall()

    def doubles(self, prefix):
        """Returns the bodies of messages that are stored more than once."""
        path = os.path.join(self.environment["XDG_STATE_HOME"], "imctl/imctl.sqlite")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            return [body for body, in database.execute(
                "SELECT body FROM messages WHERE body LIKE ? GROUP BY body HAVING count(*) > 1", (prefix + "%",))]

    def status(self):
        answer = self.run("status", "--json").stdout
        return json.loads(answer) if answer else {}
