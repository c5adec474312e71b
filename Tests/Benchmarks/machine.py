"""The faults of an agent's machine: kill, stop, restart, a full disk, removed files and a read-only directory."""
import ctypes
import fcntl
import os
import shutil
import signal
import struct
import time

from parties import PATIENCE, trace

MEGABYTES = 96
# The files of which one, two or three are removed at a time. A running agent restores the database in any case.
SMALL_FILES = ["agent.sock", "agent.pid", "agent.lock", "agent.log"]
DATABASE = ["imctl.sqlite", "imctl.sqlite-wal", "imctl.sqlite-shm"]
SETTING, GETTING, IMMUTABLE = 0x40086602, 0x80086601, 0x10
LIBC = ctypes.CDLL(None, use_errno=True)


def own_mounts():
    """Limits the file systems that are mounted from now on to this process and its children."""
    if os.geteuid() != 0 or LIBC.unshare(0x20000) != 0:
        return False
    return LIBC.mount(b"none", b"/", None, 0x44000, None) == 0


class Machine:
    """The environment of one agent, with the faults that can occur in it.

    A disk of its own, which can be filled, requires root.
    """

    def __init__(self, name, imctl, chance, is_root):
        self.name, self.imctl, self.random, self.is_root = name, imctl, chance, is_root
        self.state = imctl.environment["XDG_STATE_HOME"]
        self.directory = os.path.join(self.state, "imctl")
        self.falsehoods, self.counts = [], {}
        os.makedirs(self.state, exist_ok=True)
        if is_root and LIBC.mount(b"imctl-chaos", self.state.encode(), b"tmpfs", 0,
                                  f"size={MEGABYTES}m,mode=700".encode()) != 0:
            raise SystemExit(f"mount: {os.strerror(ctypes.get_errno())}")

    def close(self):
        if self.is_root:
            LIBC.umount2(self.state.encode(), 2)

    def note(self, what, **fields):
        self.counts[what] = self.counts.get(what, 0) + 1
        trace(what, of=self.name, **fields)

    def false(self, what):
        trace("FALSE", of=self.name, what=what)
        self.falsehoods.append(what)

    def processes(self):
        """Returns the ids of the running agent and of agents that are starting."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline") as file:
                    words = file.read().split("\0")
                with open(f"/proc/{process}/environ") as file:
                    is_own = f"HOME={self.imctl.environment['HOME']}" in file.read().split("\0")
            except OSError:
                continue
            if is_own and words[:2] == ["imctl-agent", "serve"]:
                found.append(int(process))
        return found

    def signal(self, which):
        for process in self.processes():
            try:
                os.kill(process, which)
            except ProcessLookupError:
                pass

    def path(self, name):
        return os.path.join(self.directory, name)

    # Lasting faults: each method begins one, and returns the function that ends it.

    def stop(self):
        self.note("stopped")
        stopped = self.processes()
        self.signal(signal.SIGSTOP)
        result = self.imctl.run("status", "--timeout", "0.5")
        if stopped and result.returncode in (0, 1) and self.processes() == stopped:
            self.false(f"status of a stopped agent: {result.returncode} {result.stdout!r}")
        return lambda: self.signal(signal.SIGCONT)

    def fill(self):
        self.note("disk full")
        path = os.path.join(self.state, "filling")
        with open(path, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(65536))
            except OSError:
                pass
        return lambda: os.path.exists(path) and os.remove(path)

    def seal(self):
        """Makes the directory read-only, so that no file can be created or removed in it."""
        self.note("read-only")
        if not self.is_root:
            os.chmod(self.directory, 0o500)
            return lambda: os.chmod(self.directory, 0o700)
        self.flag(True)
        return lambda: self.flag(False)

    def flag(self, is_sealed):
        directory = os.open(self.directory, os.O_RDONLY)
        flags, = struct.unpack("l", fcntl.ioctl(directory, GETTING, bytes(8)))
        flags = flags | IMMUTABLE if is_sealed else flags & ~IMMUTABLE
        fcntl.ioctl(directory, SETTING, struct.pack("l", flags))
        os.close(directory)

    # Sudden faults.

    def kill(self):
        self.note("killed")
        self.signal(signal.SIGKILL)

    def restart(self):
        """Restarts the agent, and checks that the reported outcome is true."""
        self.note("restarted")
        before = self.processes()
        result = self.imctl.run("agent", "restart", "--timeout", "20")
        after = self.processes()
        trace("restart", of=self.name, status=result.returncode, errors=result.stderr, before=before, after=after)
        if result.returncode == 0 and set(before) & set(after):
            self.false(f"agent restart: 0, and {before} still runs")

    def end(self):
        self.note("ended")
        before = self.processes()
        result = self.imctl.run("agent", "stop", "--timeout", "20")
        after = self.processes()
        trace("end", of=self.name, status=result.returncode, errors=result.stderr, before=before, after=after)
        if result.returncode == 0 and set(before) & set(after):
            self.false(f"agent stop: 0, and {before} still runs")

    def remove(self):
        names = self.random.sample(SMALL_FILES, self.random.randint(1, len(SMALL_FILES)))
        self.note("files removed", names=names)
        for name in names:
            try:
                os.remove(self.path(name))
            except OSError:
                pass

    def remove_database(self):
        """Removes files of the running agent, or its whole directory, and waits until it has restored the database."""
        if not self.recover():
            return
        names = self.random.choice([DATABASE, DATABASE[:1], DATABASE[:2], DATABASE[1:], DATABASE[1:2], None])
        self.note("database removed", names=names)
        kept = [name for name in names or DATABASE[:1] if os.path.exists(self.path(name))]
        if names is None:
            shutil.rmtree(self.directory, ignore_errors=True)
        else:
            for name in kept:
                os.remove(self.path(name))
        deadline = time.monotonic() + 20
        while not all(os.path.exists(self.path(name)) for name in kept):
            if time.monotonic() > deadline:
                return self.false(f"{kept} of the database are not put back")
            time.sleep(0.02)

    def strike(self):
        """Causes one or two random faults."""
        lasting = [self.stop, self.stop, self.seal] + ([self.fill, self.fill] if self.is_root else [])
        sudden = [self.kill, self.kill, self.kill, self.restart, self.end, self.remove, self.remove]
        what = self.random.choice(lasting + sudden + [self.remove_database] * 2)
        if what not in lasting:
            return what()
        heal = what()
        try:
            time.sleep(self.random.uniform(0.1, 3))
            if self.random.random() < 0.5:
                self.random.choice(sudden)()
                time.sleep(self.random.uniform(0.1, 3))
        finally:
            heal()

    def recover(self):
        """Waits until the session is online again, and returns whether it is."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            status = self.imctl.status()
            if status.get("state") == "syncOK":
                if len(self.processes()) > 1:
                    time.sleep(5)
                    if len(agents := self.processes()) > 1:
                        self.false(f"several agents: {agents}")
                return True
            time.sleep(0.2)
        self.false(f"not back within {PATIENCE} s: {status}")
        return False
