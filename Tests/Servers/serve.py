#!/usr/bin/python3
"""Runs a private Prosody or ejabberd of Debian's packages on loopback.

Reads a line of JSON {"kind": "prosody"|"ejabberd", "domain", "accounts": {NAME: PASSWORD}, …} (all but the
kind and the accounts may be missing), makes a directory, a certificate where none is given, and a configuration, starts
the server, and answers {"port", "directTLSPort", "id", "caFile"} when it listens. Then obeys
{"order": "stop"|"kill"|"start"|"freeze"|"thaw", "number": N} and answers {"done": N}.
At the end of its input it ends the server and deletes the directory. The server's log goes to standard error.
"""
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time

from authority import Authority
from child import die_with_parent, options, orders, report, temporary

HERE = os.path.dirname(os.path.abspath(__file__))
claims = []


class Server:
    """A server in `directory`, started and stopped any number of times."""

    def __init__(self, wanted, directory):
        self.directory = directory
        self.process = None
        # ejabberd makes this file when its accounts are there.
        self.started = os.path.join(directory, "started")
        self.kind = wanted["kind"]
        self.domain = wanted.get("domain", "im.example")
        self.accounts = wanted["accounts"]
        self.hashed = wanted.get("passwordStore", "hashed") == "hashed"
        self.hash = wanted.get("hash", "SHA-1")
        self.maximum_tls = wanted.get("maximumTLS", "1.3")
        self.modules = wanted.get("extraModules", [])
        self.lines = "\n".join(wanted.get("extraLines", []))
        self.port, self.direct_tls_port = free_ports(2)
        self.ca = None
        certificate = wanted.get("certificate")
        if certificate is None:
            authority = Authority(os.path.join(directory, "authority"))
            self.ca = authority.certificate
            self.chain, self.key = authority.issue("valid", [self.domain])
        else:
            self.chain, self.key = certificate["chainFile"], certificate["keyFile"]
        self.command, self.environment = getattr(self, "prepare_" + self.kind)()

    def fill(self, template, path, **fields):
        """Writes a template of this directory with its @FIELDS@ filled in."""
        text = open(os.path.join(HERE, template)).read()
        fields.update(DIRECTORY=self.directory, DOMAIN=self.domain, PORT=self.port,
                      DIRECT_TLS_PORT=self.direct_tls_port, CERTIFICATE=self.chain, KEY=self.key,
                      LINES=self.lines)
        for name, value in fields.items():
            text = text.replace(f"@{name}@", str(value))
        with open(path, "w") as file:
            file.write(text)

    def prepare_prosody(self):
        config = os.path.join(self.directory, "prosody.cfg.lua")
        groups = os.path.join(self.directory, "groups.txt")
        with open(groups, "w") as file:
            file.write("[Friends]\n" + "".join(f"{name}@{self.domain}\n" for name in self.accounts))
        self.fill("prosody.cfg.lua", config, GROUPS=groups,
                  AUTHENTICATION="internal_hashed" if self.hashed else "internal_plain",
                  PASSWORD_HASH=self.hash,
                  PROTOCOL="tlsv1_2" if self.maximum_tls == "1.2" else "tlsv1_2+",
                  MODULES="".join(json.dumps(name) + ";" for name in self.modules))
        # Prosody reads an account from its data file: no admin command, no second process.
        store = os.path.join(self.directory, "data", self.domain.replace(".", "%2e"), "accounts")
        os.makedirs(store)
        for name, password in self.accounts.items():
            with open(os.path.join(store, name + ".dat"), "w") as file:
                file.write("return {\n\t[\"password\"] = %s;\n};\n" % json.dumps(password))
        return ["/usr/bin/prosody", "-F", "--config", config], {}

    def prepare_ejabberd(self):
        config = os.path.join(self.directory, "ejabberd.yml")
        self.fill("ejabberd.yml", config,
                  PASSWORD_FORMAT="scram" if self.hashed else "plain",
                  HASH={"SHA-1": "sha", "SHA-256": "sha256", "SHA-512": "sha512"}[self.hash],
                  NO_TLS13="    - no_tlsv1_3\n" if self.maximum_tls == "1.2" else "",
                  MODULES="".join(f"  {name}: {{}}\n" for name in self.modules))
        with open(os.path.join(self.directory, "inetrc"), "w") as file:
            file.write("{lookup, [file]}.\n{host, {127,0,0,1}, [\"localhost\"]}.\n{file, hosts, \"/dev/null\"}.\n{file, resolv, \"/dev/null\"}.\n")
        # A code path of our own, no node name: neither epmd nor Erlang's distribution listens anywhere.
        users = "[" + ",".join(
            "{%s,%s}" % (binary(name), binary(password)) for name, password in self.accounts.items()) + "]"
        make = (
            "{ok,_}=application:ensure_all_started(ejabberd),"
            "D = %s,U = %s,"
            "[ejabberd_auth:try_register(N,D,P)||{N,P}<-U],"
            "mod_shared_roster:create_group(D,<<\"friends\">>,[{name,<<\"Friends\">>},{displayed_groups,[<<\"friends\">>]}]),"
            "[mod_shared_roster:add_user_to_group(D,{N,D},<<\"friends\">>)||{N,_}<-U],"
            "ok = file:write_file(\"%s\",\"\")."
        ) % (binary(self.domain), users, self.started)
        command = ["/usr/bin/erl", "-noinput", "-start_epmd", "false", "+S", "1:1", "+A", "4", "+sbwt", "none",
                   "-mnesia", "dir", '"%s/mnesia"' % self.directory, "-eval", make]
        environment = {
            "EJABBERD_CONFIG_PATH": config, "EJABBERD_LOG_PATH": os.path.join(self.directory, "ejabberd.log"),
            "ERL_LIBS": "/usr/lib/x86_64-linux-gnu", "ERL_INETRC": os.path.join(self.directory, "inetrc"),
            "ERL_CRASH_DUMP": "/dev/null", "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": self.directory,
            "SPOOL_DIR": os.path.join(self.directory, "mnesia"),
            "EJABBERD_PID_PATH": os.path.join(self.directory, "pid"),
        }
        return command, environment

    def start(self):
        if os.path.exists(self.started):
            os.unlink(self.started)
        self.process = subprocess.Popen(
            self.command, cwd=self.directory, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
            stdout=sys.stderr, preexec_fn=die_with_parent)
        deadline = time.monotonic() + 60
        while not self.is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"{self.kind} ended with status {self.process.returncode}")
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.kind} does not listen on {self.port} and {self.direct_tls_port}")
            time.sleep(0.02)

    def is_ready(self):
        if self.kind == "ejabberd" and not os.path.exists(self.started):
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

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


def binary(text):
    """An Erlang binary of a string's UTF-8."""
    return "<<" + ",".join(str(byte) for byte in text.encode()) + ">>"


def free_ports(count):
    """Ports that nobody listens on.

    They lie below those that the kernel gives to outgoing connections, and an abstract socket held by this
    process keeps other servers of this kind away from them until they listen and after a stop.
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


def answers(port):
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def main():
    wanted = options()
    with temporary() as directory:
        server = Server(wanted, directory)
        try:
            server.start()
            report(port=server.port, directTLSPort=server.direct_tls_port, id=server.process.pid,
                   caFile=server.ca)
            for order in orders():
                getattr(server, order["order"])()
                report(done=order["number"])
        finally:
            server.stop()


if __name__ == "__main__":
    main()
