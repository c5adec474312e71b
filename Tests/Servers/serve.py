#!/usr/bin/python3
"""Runs a private Prosody or ejabberd from Debian's packages on loopback.

Reads a line of JSON with the options: {"kind": "prosody"|"ejabberd"|"prosody13"|"ejabberd24", "accounts": {NAME:
PASSWORD}, …}. DEFAULTS lists the other options. The first two kinds are those of Debian 12. The others are those of
Debian 13, which run by chroot in the directory that `trixie` has created. Creates a directory, a certificate unless one
is given, and a configuration, starts the server, and answers {"port", "directTLSPort", "id", "caFile", "directory",
"tokens"} when it listens. Then obeys {"order": "stop"|"kill"|"start"|"freeze"|"thaw", "number": N} and answers
{"done": N}. {"order": "evaluate", "text": CODE, "number": N} runs Lua or Erlang inside the server, and its answer has
the "value". At the end of its input it ends the server and deletes the directory. The server's log goes to standard
error.
"""
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time

import ejabberd
import prosody
from authority import Authority
from child import die_with_parent, options, orders, report, temporary

HERE = os.path.dirname(os.path.abspath(__file__))
TRIXIE = "/var/cache/imctl-tests/trixie"
DEFAULTS = {
    "domain": "im.example",
    # Another domain with anonymous logins (ANONYMOUS).
    "anonymousDomain": None,
    # hashed or plain; the hash function of hashed passwords; lifetime and renewal age of FAST tokens in seconds.
    "passwordStore": "hashed", "hash": "SHA-1", "fastTokenLifetime": None, "fastTokenRefreshAge": None,
    # internal, or for ejabberd: jwt with its key (HMAC, base64url), or external with a script that knows the accounts.
    "authentication": "internal", "jwtKey": "",
    # The lifetime, in seconds, of tokens that each account gets at the server's start, for OAUTHBEARER or X-OAUTH2.
    "bearerTokenLifetime": None,
    # Disabled accounts with the reasons that the server gives; accounts that the listener refuses.
    "disabled": {}, "denied": [],
    # Accounts that see each other's presence; by default all.
    "friends": None,
    # ejabberd: stores the archive in SQLite. Its own database reads a whole archive for each added message.
    "archiveInSQLite": False,
    # ejabberd: the maximum number of sessions of an account.
    "maximumSessions": 50,
    # Whether registration is open.
    "registration": False,
    "maximumTLS": "1.3", "certificate": None,
    # The domain of a component that may connect with the secret "component-secret".
    "component": None,
    # Local parts of users that may remove archived messages with ejabberd's web API, at the component's port.
    "apiUsers": [],
    # The path of the authority of client certificates for EXTERNAL (not for Debian 12's Prosody).
    "clientAuthority": None,
    # Files of the server's directory; @DIRECTORY@ is replaced in the lines.
    "files": {},
    "extraModules": [], "withoutModules": [], "extraLines": [], "hostLines": [],
}


class Server:
    """A server in `directory`, which can be started and stopped any number of times.

    A server with a root directory of its own sees `directory` by another path, `inside`.
    """

    def __init__(self, wanted, directory):
        unknown = set(wanted) - set(DEFAULTS) - {"kind", "accounts"}
        if unknown:
            raise SystemExit(f"serve.py knows no {', '.join(unknown)}")
        self.options = {**DEFAULTS, **{name: value for name, value in wanted.items() if value is not None}}
        self.process = None
        self.kind, self.accounts, self.domain = wanted["kind"], wanted["accounts"], self.options["domain"]
        self.friends = self.accounts if self.options["friends"] is None else self.options["friends"]
        self.root = root_of(self.kind)
        self.directory, self.inside = directory, directory.removeprefix(self.root)
        self.software = prosody if self.kind.startswith("prosody") else ejabberd
        self.is_newer = bool(self.root)
        # The file that the server creates when it is ready.
        self.started = "started"
        self.port, self.direct_tls_port, self.component_port = free_ports(3)
        self.ca = None
        certificate = self.options["certificate"]
        if certificate is None:
            authority = Authority(os.path.join(directory, "authority"))
            self.ca = authority.certificate
            chain, key = authority.issue("valid", [self.domain, *self.other_domains()])
        else:
            chain, key = certificate["chainFile"], certificate["keyFile"]
        shutil.copy(chain, self.path("chain.pem"))
        shutil.copy(key, self.path("key.pem"))
        if self.options["clientAuthority"]:
            shutil.copy(self.options["clientAuthority"], self.path("clients.pem"))
        for name, text in self.options["files"].items():
            self.write(name, text)
        self.command, self.environment = self.software.prepare(self)

    def other_domains(self):
        return [self.options["anonymousDomain"]] if self.options["anonymousDomain"] else []

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def fill(self, template, **fields):
        """Fills in the @FIELDS@ of a template in this directory, and returns the path of the result for the server."""
        with open(os.path.join(HERE, template)) as file:
            text = file.read()
        fields.update(LINES="\n".join(self.options["extraLines"]))
        common = dict(DIRECTORY=self.inside, DOMAIN=self.domain, PORT=self.port, DIRECT_TLS_PORT=self.direct_tls_port,
                      COMPONENT_PORT=self.component_port)
        for name, value in [*fields.items(), *common.items()]:
            text = text.replace(f"@{name}@", str(value))
        self.write(template, text)
        return os.path.join(self.inside, template)

    def tokens(self):
        """Returns the bearer tokens of the accounts by name."""
        if self.options["bearerTokenLifetime"] is None:
            return {}
        with open(self.path("tokens")) as file:
            return dict(line.split() for line in file)

    def start(self):
        if os.path.exists(self.path(self.started)):
            os.unlink(self.path(self.started))

        def before():
            die_with_parent()
            if self.root:
                os.chroot(self.root)
            os.chdir(self.inside)

        self.process = subprocess.Popen(
            self.command, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stdout=sys.stderr,
            preexec_fn=before)
        deadline = time.monotonic() + 100
        while not self.is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"{self.kind} ended with status {self.process.returncode}")
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.kind} does not listen on {self.port} and {self.direct_tls_port}")
            time.sleep(0.02)

    def is_ready(self):
        if not os.path.exists(self.path(self.started)):
            return False
        return answers(self.port) and answers(self.direct_tls_port)

    def stop(self, patience=10):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def evaluate(self, text):
        """Runs Lua or Erlang inside the server, which reads it from a file, and returns the value as text."""
        answer = self.path("order.done")
        self.write("order.new", text)
        os.rename(self.path("order.new"), self.path("order"))
        deadline = time.monotonic() + 100
        while not os.path.exists(answer):
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.kind} did not carry out: {text}")
            time.sleep(0.01)
        with open(answer) as file:
            value = file.read()
        os.unlink(answer)
        return value

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


def root_of(kind):
    """Returns the root directory of a kind of server, which is empty for a server of this system."""
    return TRIXIE if kind in ("prosody13", "ejabberd24") else ""


def free_ports(count):
    """Returns ports on which nobody listens.

    They lie below the ports that the kernel gives to outgoing connections. An abstract socket of this process
    reserves each of them against other test servers until the server listens, and after a stop.
    """
    ports = []
    while len(ports) < count:
        port = secrets.randbelow(12000) + 20000
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0imctl-test-port-{port}")
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        claims.append(claim)
        ports.append(port)
    return ports


claims = []


def answers(port):
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def main():
    wanted = options()
    root = root_of(wanted["kind"])
    if root and not os.path.exists(os.path.join(root, "unpacked")):
        raise SystemExit(f"{wanted['kind']} is not there: `make setup`, as root, unpacks it into {root}")
    if root and os.geteuid() != 0:
        raise SystemExit(f"{wanted['kind']} runs by chroot in {root}: be root")
    with temporary(root + "/srv" if root else "/tmp") as directory:
        server = Server(wanted, directory)
        try:
            server.start()
            report(port=server.port, directTLSPort=server.direct_tls_port,
                   componentPort=server.component_port, id=server.process.pid,
                   caFile=server.ca, directory=directory, tokens=server.tokens())
            for order in orders():
                text = [order["text"]] if "text" in order else []
                report(done=order["number"], value=getattr(server, order["order"])(*text))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
