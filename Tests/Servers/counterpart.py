#!/usr/bin/python3
"""A client other than imctl: slixmpp, which logs in and reports what it receives.

Reads a line of JSON {"jid", "password", "host", "port", "directTLS", "caFile", "accepts", "interests"}, and answers
{"ready": FULL_JID} when the server has its presence. Reports {"presence": {"from", "type", "show", "status",
"priority"}} and {"message": {"from", "body", "id", "delayed"}}, or {"stanza": {"from", "xml"}} for a message without a
body. Obeys {"order": "message", "to", "text"}, {"order": "presence", "to": SHOW, "text": STATUS}, {"order": "xml",
"text"} and {"order": "ping", "text": TOKEN}, and answers the last one with {"settled": TOKEN}. Accepts each
subscription request and requests a subscription in return, unless "accepts" is false. Subscribes to the nodes in
"interests" (XEP-0163 §4). Logs out at the end of its input.
"""
import asyncio
import logging
import os
import sys

import slixmpp

from child import options, orders, report


def without_channel_binding(client):
    """Turns channel binding off.

    On TLS 1.3 slixmpp binds to a value that is not tls-unique, which some servers refuse.
    """
    mechanisms = client.plugin["feature_mechanisms"]
    credentials = mechanisms.sasl_callback
    mechanisms.sasl_callback = lambda required, optional: credentials(required, optional - {"channel_binding"})
    mechanisms.use_mechs = {"SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"}


class Counterpart(slixmpp.ClientXMPP):
    def __init__(self, wanted):
        super().__init__(wanted["jid"], wanted["password"])
        without_channel_binding(self)
        self.ca_certs = wanted["caFile"]
        self.auto_authorize = True if wanted.get("accepts", True) else None
        self.auto_subscribe = wanted.get("accepts", True)
        self.register_plugin("xep_0092", {"software_name": "Slixmpp", "version": slixmpp.__version__})
        self.register_plugin("xep_0199")
        self.interests = wanted.get("interests", [])
        if self.interests:
            self.register_plugin("xep_0163")
        self.add_event_handler("session_start", self.session_started)
        self.add_event_handler("message", self.message_received)
        self.add_event_handler("failed_auth", lambda _: self.fail("authentication failed"))
        self.add_event_handler("connection_failed", lambda why: self.fail(f"connection failed: {why}"))
        self.register_handler(slixmpp.xmlstream.handler.Callback(
            "presences", slixmpp.xmlstream.matcher.StanzaPath("presence"), self.presence_received))
        # The event "message" is only for messages with a body.
        self.register_handler(slixmpp.xmlstream.handler.Callback(
            "stanzas", slixmpp.xmlstream.matcher.StanzaPath("message"), self.stanza_received))
        self.ended = asyncio.get_event_loop().create_future()

    def fail(self, why):
        print(why, file=sys.stderr, flush=True)
        if not self.ended.done():
            self.ended.set_result(1)

    async def session_started(self, _):
        for node in self.interests:
            self.plugin["xep_0163"].add_interest(node)
        await self.get_roster()
        self.send_presence()
        await self.plugin["xep_0199"].ping(self.boundjid.host, timeout=30)
        report(ready=self.boundjid.full)

    def presence_received(self, stanza):
        if stanza["from"].bare == self.boundjid.bare:
            return
        report(presence={
            "from": stanza["from"].full, "type": stanza.xml.get("type", "available"),
            "show": stanza.xml.findtext("{jabber:client}show", ""), "status": stanza["status"],
            "priority": stanza["priority"]})

    def message_received(self, stanza):
        if stanza["body"]:
            delayed = stanza.xml.find("{urn:xmpp:delay}delay") is not None
            report(message={"from": stanza["from"].full, "body": stanza["body"], "id": stanza["id"],
                            "delayed": delayed})

    def stanza_received(self, stanza):
        if not stanza["body"]:
            report(stanza={"from": stanza["from"].full, "xml": str(stanza)})

    async def obey(self, order):
        kind, to, text = order["order"], order.get("to", ""), order.get("text", "")
        if kind == "message":
            self.send_message(mto=to, mbody=text, mtype="chat")
        elif kind == "presence":
            self.send_presence(pshow=to or None, pstatus=text or None)
        elif kind == "xml":
            # A server's expat postpones a token that arrives in pieces until its input has doubled. The spaces double
            # the input.
            self.send_raw(text + " " * (len(text) if len(text) > 16384 else 0))
        elif kind == "ping":
            await self.plugin["xep_0199"].ping(self.boundjid.host, timeout=30)
            report(settled=text)


async def main():
    wanted = options()
    client = Counterpart(wanted)
    client.connect((wanted["host"], wanted["port"]), use_ssl=wanted.get("directTLS", False),
                   disable_starttls=wanted.get("directTLS", False))
    loop = asyncio.get_running_loop()

    def read():
        for order in orders():
            asyncio.run_coroutine_threadsafe(client.obey(order), loop).result()
        loop.call_soon_threadsafe(lambda: client.ended.done() or client.ended.set_result(0))

    reader = loop.run_in_executor(None, read)
    status = await client.ended
    if status == 0:
        await client.disconnect(wait=5)
        await reader
    return status


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    status = loop.run_until_complete(main())
    sys.stderr.flush()
    # slixmpp leaves threads and tasks behind.
    os._exit(status)
