#!/usr/bin/python3
"""A server that plays a transcript to its clients.

Reads a line of JSON {"scripts": [[STEP, …], …], "options": {"directTLS", "certificate", "minimumTLS", "maximumTLS",
"ciphers"}}, listens on a loopback port and answers {"port"}. Reports each event on connection N (from 1) as
{"connection": N, "event": "connected"|"received"|"tls"|"mismatch"|"finished"|"closed", "text", "tls"}.
A step is an array of a name and its value (see ScriptedServer.Step). After the last step, the server ends its stream when
the client does. Ends when its input ends.
"""
import os
import re
import socket
import ssl
import struct
import sys
import threading
import xml.etree.ElementTree as ElementTree
from xml.parsers import expat

from child import options, orders, report
from scram import Exchange

# Text and the complete tag after it. A quoted value may contain ">".
TAG = re.compile(rb"""[^<]*<(?:[^>"']|"[^"]*"|'[^']*')*>""")
END = b"</stream:stream>"
PREFIXES = "xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'"


class Mismatch(Exception):
    """The client has departed from the transcript."""


class Closed(Exception):
    """The client has closed or broken the connection."""


class Wire:
    """A connection that records the data that it reads, and parses it element by element."""

    def __init__(self, number, client):
        self.number = number
        self.socket = client
        self.tls = False
        self.buffer = bytearray()
        self.reader = None
        # Whether the script has ended the server's stream.
        self.is_ended = False
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def report(self, event, text=None):
        report(connection=self.number, event=event, text=text, tls=self.tls)

    def read(self):
        """Reads the available data, and raises Closed at its end."""
        try:
            data = self.socket.recv(65536)
        except OSError as error:
            raise Closed(str(error))
        if not data:
            raise Closed("end of stream")
        self.report("received", data.decode("latin-1"))
        self.buffer += data

    def write(self, data):
        self.is_ended = self.is_ended or END in data
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Closed(str(error))

    def start_tls(self, context):
        if self.buffer.strip():
            raise Mismatch(f"bytes before TLS: {bytes(self.buffer)!r}")
        self.buffer.clear()
        self.reader = None
        try:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        except OSError as error:
            self.report("tls", f"failed: {error}")
            raise Closed(str(error))
        self.tls = True
        self.report("tls", f"{self.socket.version()} {self.socket.cipher()[0]}")

    def next(self, new_stream=False, may_end=False):
        """Returns the next header ("open", element), child ("element", element) or end ("end", None) of a stream.

        A client may end its stream at any time. If the script does not expect that, the connection counts as closed.

        The parser gets one tag at a time, for two reasons. The bytes after a tag may belong to the next parser, and
        expat postpones a tag that it gets in pieces until its input has doubled (since 2.6, and in Debian 12's 2.5.0).
        """
        if new_stream or self.reader is None:
            self.reader = Reader()
        while True:
            while found := TAG.match(self.buffer):
                tag = found[0]
                del self.buffer[: len(tag)]
                event = self.reader.feed(tag)
                if event == ("end", None) and not may_end:
                    raise Closed("its stream has ended")
                if event is not None:
                    return event
            self.read()


class Reader:
    """A parser that reads the XML of one stream as events."""

    def __init__(self):
        self.parser = expat.ParserCreate(namespace_separator="}")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.stack = []
        self.event = None

    def feed(self, data):
        self.event = None
        try:
            self.parser.Parse(data, False)
        except expat.ExpatError as error:
            raise Mismatch(f"not well-formed XML: {error}")
        return self.event

    def start(self, name, attributes):
        element = ElementTree.Element(clark(name), {clark(key): value for key, value in attributes.items()})
        if self.stack:
            if len(self.stack) > 1:
                self.stack[-1].append(element)
        else:
            self.event = ("open", element)
        self.stack.append(element)

    def end(self, _):
        element = self.stack.pop()
        if len(self.stack) == 1:
            self.event = ("element", element)
        elif not self.stack:
            self.event = ("end", None)

    def text(self, data):
        if len(self.stack) > 1:
            element = self.stack[-1]
            if len(element):
                element[-1].tail = (element[-1].tail or "") + data
            else:
                element.text = (element.text or "") + data


def clark(name):
    return "{" + name if "}" in name else name


def expected(text):
    """Parses the text of a `C:` line into an event."""
    if text.strip().startswith("</"):
        return ("end", None)
    text = re.sub(r"^\s*<\?xml.*?\?>", "", text)
    is_header = re.match(r"\s*<stream:stream\b", text) is not None
    if is_header and "</stream:stream>" not in text and not text.rstrip().endswith("/>"):
        text += "</stream:stream>"
    try:
        element = ElementTree.fromstring(f"<wrap {PREFIXES}>{text}</wrap>")[0]
    except (ElementTree.ParseError, IndexError) as error:
        raise Mismatch(f"the transcript's own “{text}” cannot be read: {error}")
    return ("open" if is_header else "element", element)


def difference(want, got, captured, path=""):
    """Returns how an element differs from the wanted one, or None, and fills `captured` with the values of `{name}`."""
    path = f"{path}/{want.tag}"
    if want.tag != got.tag:
        return f"{path}: it is {got.tag}"
    for name, value in want.attrib.items():
        if not fits(value, got.get(name), captured):
            return f"{path}: {name} is {got.get(name)!r}, not {value!r}"
    text = (want.text or "").strip()
    if text and not fits(text, (got.text or "").strip(), captured):
        return f"{path}: its text is {got.text!r}, not {text!r}"
    for child in want:
        found = [difference(child, other, captured, path) for other in got if other.tag == child.tag]
        if not found:
            return f"{path}: no {child.tag}"
        if None not in found:
            return found[0]
    return None


def fits(want, got, captured):
    if got is None:
        return False
    if want == "*":
        return got != ""
    name = re.fullmatch(r"\{(\w+)\}", want)
    if name:
        captured[name[1]] = got
        return True
    return want == got


class Player:
    """A player of one script on one connection."""

    def __init__(self, wire, context):
        self.wire = wire
        self.context = context
        self.captured = {}

    def play(self, script, direct_tls):
        wire = self.wire
        try:
            if direct_tls:
                wire.start_tls(self.context)
            for step in script:
                if not getattr(self, step[0])(*step[1:]):
                    continue
                wire.report("finished")
                return
            wire.report("finished")
            self.rest()
        except Mismatch as error:
            wire.report("mismatch", str(error))
            self.close()
        except Closed as error:
            wire.report("closed", str(error))

    def rest(self):
        """Reads on, and ends the stream when the client ends its own, so that no client waits for that."""
        wire = self.wire
        while True:
            wire.read()
            if not wire.is_ended and wire.buffer[-100:].rstrip().endswith(END):
                wire.write(END)

    def client(self, text):
        kind, want = expected(text)
        got_kind, got = self.wire.next(new_stream=kind == "open", may_end=kind == "end")
        if kind != got_kind:
            shown = "" if got is None else ElementTree.tostring(got, encoding="unicode")
            raise Mismatch(f"expected {text}\ngot {got_kind} {shown}")
        if want is not None:
            wrong = difference(want, got, self.captured)
            if wrong:
                raise Mismatch(f"expected {text}\n{wrong}")

    def filled(self, text):
        return re.sub(r"\{(\w+)\}", lambda name: self.captured.get(name[1], name[0]), text).encode()

    def server(self, text):
        self.wire.write(self.filled(text))

    def bytes(self, values):
        self.wire.write(bytes(values))

    def drip(self, text):
        for byte in self.filled(text):
            self.wire.write(bytes([byte]))

    def flood(self, text, size):
        piece = text.encode()
        piece *= max(1, 65536 // len(piece))
        sent = 0
        while sent < size:
            self.wire.write(piece)
            sent += len(piece)

    def startTLS(self):
        self.wire.start_tls(self.context)

    def scram(self, wanted):
        Exchange(self.wire, wanted, Mismatch).run()

    def stall(self):
        self.wire.report("finished")
        threading.Event().wait()

    def close(self):
        try:
            self.wire.socket.settimeout(2)
            if self.wire.tls:
                self.wire.socket = self.wire.socket.unwrap()
            self.wire.socket.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass
        self.wire.socket.close()
        return True

    def reset(self):
        self.wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.wire.socket.detach())
        return True


def tls_context(wanted):
    versions = {"1.0": ssl.TLSVersion.TLSv1, "1.1": ssl.TLSVersion.TLSv1_1, "1.2": ssl.TLSVersion.TLSv1_2,
                "1.3": ssl.TLSVersion.TLSv1_3}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Old versions and SHA-1 are below the default security level, but tests check that the client refuses them.
    context.set_ciphers(wanted.get("ciphers", "DEFAULT") + ":@SECLEVEL=0")
    context.minimum_version = versions[wanted.get("minimumTLS", "1.2")]
    context.maximum_version = versions[wanted.get("maximumTLS", "1.3")]
    context.set_alpn_protocols(["xmpp-client"])
    context.load_cert_chain(wanted["certificate"]["chainFile"], wanted["certificate"]["keyFile"])
    return context


def main():
    wanted = options()
    scripts = wanted["scripts"]
    context = tls_context(wanted["options"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    report(port=listener.getsockname()[1])

    def accept():
        number = 0
        while True:
            client, _ = listener.accept()
            number += 1
            wire = Wire(number, client)
            wire.report("connected")
            script = scripts[min(number, len(scripts)) - 1]
            threading.Thread(target=Player(wire, context).play, daemon=True,
                             args=(script, wanted["options"].get("directTLS", False))).start()

    threading.Thread(target=accept, daemon=True).start()
    for _ in orders():
        pass
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
