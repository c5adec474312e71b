#!/usr/bin/python3
"""A client that only writes prepared stanzas or counts incoming ones, as the yardstick of `send`.

  raw_client.py JID HOST PORT CA_FILE send TO COUNT < PASSWORD
  raw_client.py JID HOST PORT CA_FILE receive < PASSWORD

The client uses TLS, PLAIN and stream management. `send` writes COUNT messages as fast as the socket accepts them, with
an <r/> after every hundred, and prints {"began": T} and, when the server has all of them, {"acknowledged": T}.
`receive` prints {"ready": true}, and for every line N on its standard input counts N messages and prints
{"first": T, "last": T}. T is CLOCK_MONOTONIC in seconds.
"""
import base64
import json
import re
import select
import socket
import ssl
import sys
import time

EVERY = 100


class Stream:
    def __init__(self, jid, password, host, port, ca_file, counts):
        self.name, self.domain = jid.split("@")
        self.buffer = b""
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.open()
        self.expect(b"</stream:features>")
        self.write(b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
        self.expect(b"<proceed")
        self.buffer = b""
        context = ssl.create_default_context(cafile=ca_file)
        self.socket = context.wrap_socket(self.socket, server_hostname=self.domain)
        self.open()
        self.expect(b"</stream:features>")
        token = base64.b64encode(f"\0{self.name}\0{password}".encode()).decode()
        self.write(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{token}</auth>".encode())
        self.expect(b"<success")
        self.open()
        self.expect(b"</stream:features>")
        self.write(b"<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
        self.expect(b"</iq>")
        if counts:
            self.write(b"<enable xmlns='urn:xmpp:sm:3'/>")
            self.expect(b"<enabled")

    def open(self):
        self.write(f"<stream:stream to='{self.domain}' version='1.0' xmlns='jabber:client' "
                   "xmlns:stream='http://etherx.jabber.org/streams'>".encode())

    def write(self, data):
        self.socket.sendall(data)

    def read(self):
        data = self.socket.recv(1 << 18)
        if not data:
            sys.exit("the server has closed the stream")
        return data

    def expect(self, text):
        """Reads until `text` has arrived, and keeps the data that follows it."""
        while text not in self.buffer:
            self.buffer += self.read()
            if b"<failure" in self.buffer:
                sys.exit(self.buffer.decode())
        self.buffer = self.buffer.split(text, 1)[1]


def message(to, number):
    """Returns the message that imctl writes for one line."""
    name = f"raw{time.monotonic_ns() % 10**14:014d}.{number % 512}"
    return f"<message to='{to}' id='{name}' type='chat'><body>message {number} of a run, some words long</body></message>"


def say(**fields):
    print(json.dumps(fields), flush=True)


def send(stream, to, count):
    parts = ["".join(message(to, number) for number in range(start, min(start + EVERY, count)))
             + "<r xmlns='urn:xmpp:sm:3'/>" for start in range(0, count, EVERY)]
    parts = [part.encode() for part in parts]
    stream.socket.setblocking(False)
    acknowledged, tail, waiting = 0, b"", b""
    say(began=time.monotonic())
    while acknowledged < count:
        if not waiting and parts:
            waiting = parts.pop(0)
        try:
            data = stream.socket.recv(1 << 16)
            if not data:
                sys.exit("the server has closed the stream")
            tail = tail[-100:] + data
            for found in re.finditer(rb"<a [^>]*h=['\"](\d+)['\"]", tail):
                acknowledged = max(acknowledged, int(found.group(1)))
            continue
        except (ssl.SSLWantReadError, BlockingIOError):
            pass
        if waiting:
            try:
                waiting = waiting[stream.socket.send(waiting):]
                continue
            except (ssl.SSLWantWriteError, BlockingIOError):
                pass
        select.select([stream.socket], [stream.socket] if waiting else [], [])
    say(acknowledged=time.monotonic())


def receive(stream):
    stream.write(b"<presence/>")
    say(ready=True)
    end = b"</message>"
    for line in sys.stdin:
        wanted, count, first, tail = int(line), 0, None, b""
        while count < wanted:
            text = tail + stream.read()
            found = text.count(end)
            tail = text[text.rfind(end) + len(end):] if found else text
            tail = tail[-len(end):]
            if found:
                first = first or time.monotonic()
                count += found
        say(first=first, last=time.monotonic())


def main():
    jid, host, port, ca_file, mode = sys.argv[1:6]
    stream = Stream(jid, sys.stdin.readline().rstrip("\n"), host, int(port), ca_file, mode == "send")
    if mode == "send":
        send(stream, sys.argv[6], int(sys.argv[7]))
    else:
        receive(stream)


if __name__ == "__main__":
    main()
