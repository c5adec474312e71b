#!/usr/bin/python3
"""A server over direct TLS that accepts every login, has no content, and sends a client the data of an order.

Reads a line of JSON {"domain"}, answers {"port", "caFile"}, and obeys until the end of its input. Each order has a
"number". It is answered when the client has answered a ping after the data or has gone:
{"done": NUMBER, "seconds", "ended": whether the session ended before that}.

  {"order": "send", "kind": KIND}            to the newest session

KIND is
  none          nothing                      elements, attributes, texts    a message of 4 MB of these
  names         a message with 1,000,000 different names
  contacts      100,000 contacts, pushed     requests      100,000 requests that nobody knows
  drip          a message of 20,000 octets, one octet after the other
  messages      "count" short messages, which are valid
"""
import asyncio
import base64
import os
import ssl
import time

from authority import Authority
from child import options, orders, report, temporary
from scripted import TAG, Reader

STREAM = ("<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
          "version='1.0' from='{domain}' id='{id}'><stream:features>{features}</stream:features>")
MECHANISMS = "<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism></mechanisms>"
BIND = "urn:ietf:params:xml:ns:xmpp-bind"
CLIENT = "{jabber:client}"
OCTETS = 4_000_000


def stanza(inside):
    return f"<message from='friend@far.example' id='big' type='chat'><x xmlns='urn:example:big'>{inside}</x></message>"


def repeated(text):
    return text * (OCTETS // len(text))


def payload(kind, count):
    if kind == "elements":
        return stanza(repeated("<a/>"))
    if kind == "attributes":
        return stanza(repeated("<a b='' c='' d='' e='' f='' g='' h='' i=''/>"))
    if kind == "texts":
        return stanza(repeated("t<a/>"))
    if kind == "names":
        return stanza("".join(f"<n{number:x}/>" for number in range(1_000_000)))
    if kind == "contacts":
        return "".join(f"<iq type='set' id='p{number}'><query xmlns='jabber:iq:roster'>"
                       f"<item jid='number-{number}@far.example' subscription='both' name='Number {number}'/></query></iq>"
                       for number in range(100_000))
    if kind == "requests":
        return "".join(f"<iq type='get' id='r{number}' from='far.example'><query xmlns='urn:example:unknown'/></iq>"
                       for number in range(100_000))
    if kind == "messages":
        return "".join(f"<message from='friend@far.example/home' id='m{number}' type='chat'>"
                       f"<body>message {number} of a run, some words long</body></message>" for number in range(count))
    if kind == "drip":
        return stanza("drip " * 4000)
    return ""


class Session:
    """The connection of one client, from its first octet on."""

    newest = None

    def __init__(self, domain, reader, writer):
        self.domain, self.reader, self.writer = domain, reader, writer
        self.name, self.streams, self.pings = None, 0, {}
        self.events = Reader()

    async def run(self):
        buffer = bytearray()
        try:
            while data := await self.reader.read(1 << 16):
                buffer += data
                start = 0
                while tag := TAG.match(buffer, start):
                    start = tag.end()
                    if not self.take(self.events.feed(tag[0])):
                        return
                del buffer[:start]
        except OSError:
            pass
        finally:
            self.end()

    def take(self, event):
        """Handles one event of the stream, and returns whether the stream continues."""
        if event is None:
            return True
        kind, element = event
        if kind == "open":
            self.streams += 1
            features = f"<bind xmlns='{BIND}'/>" if self.streams > 1 else MECHANISMS
            self.write(STREAM.format(domain=self.domain, id=self.streams, features=features))
        elif kind == "end":
            return False
        elif element.tag.endswith("}auth"):
            self.name = base64.b64decode(element.text).split(b"\0")[1].decode()
            self.events = Reader()
            self.write("<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")
        elif element.tag == CLIENT + "iq":
            self.answer(element)
        return True

    def answer(self, element):
        id, kind = element.get("id"), element.get("type")
        if kind in ("result", "error"):
            if waiter := self.pings.pop(id, None):
                waiter.set_result(False)
            return
        inside = ""
        bind = element.find(f"{{{BIND}}}bind")
        if bind is not None:
            resource = bind.findtext(f"{{{BIND}}}resource", "here")
            Session.newest = self
            inside = f"<bind xmlns='{BIND}'><jid>{self.name}@{self.domain}/{resource}</jid></bind>"
        elif element.find("{jabber:iq:roster}query") is not None and kind == "get":
            inside = "<query xmlns='jabber:iq:roster'/>"
        elif kind == "get":
            return self.write(f"<iq type='error' id='{id}'><error type='cancel'><service-unavailable "
                              "xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>")
        self.write(f"<iq type='result' id='{id}'>{inside}</iq>")

    def write(self, text):
        self.writer.write(text.encode())

    def end(self):
        for waiter in self.pings.values():
            waiter.set_result(True)
        self.pings = {}
        if Session.newest is self:
            Session.newest = None
        self.writer.close()

    async def attack(self, kind, text, number):
        """Sends the data and a ping, and returns whether the session ended before the answer."""
        waiter = asyncio.get_running_loop().create_future()
        id = f"behind-{number}"
        self.pings[id] = waiter
        try:
            step = 1 if kind == "drip" else 1 << 16
            for start in range(0, len(text), step):
                if waiter.done():
                    break
                self.writer.write(text[start:start + step])
                await self.writer.drain()
            self.write(f"<iq type='get' id='{id}' from='{self.domain}'><ping xmlns='urn:xmpp:ping'/></iq>")
        except OSError:
            self.end()
        return await waiter


async def obey(order):
    text = payload(order["kind"], order.get("count", 0)).encode()
    while Session.newest is None:
        await asyncio.sleep(0.05)
    began = time.monotonic()
    ended = await Session.newest.attack(order["kind"], text, order["number"])
    report(done=order["number"], seconds=time.monotonic() - began, ended=ended)


async def serve(domain, directory):
    authority = Authority(os.path.join(directory, "authority"))
    chain, key = authority.issue("valid", [domain])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["xmpp-client"])
    context.load_cert_chain(chain, key)
    server = await asyncio.start_server(lambda reader, writer: Session(domain, reader, writer).run(), "127.0.0.1", 0,
                                        ssl=context)
    report(port=server.sockets[0].getsockname()[1], caFile=authority.certificate)
    loop = asyncio.get_running_loop()

    def read():
        for order in orders():
            asyncio.run_coroutine_threadsafe(obey(order), loop)
        os._exit(0)

    await loop.run_in_executor(None, read)


def main():
    wanted = options()
    with temporary() as directory:
        asyncio.run(serve(wanted["domain"], directory))


if __name__ == "__main__":
    main()
