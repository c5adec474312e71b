#!/usr/bin/python3
"""A push service (XEP-0357) as an external component of a server (XEP-0114), with slixmpp.

Reads a line of JSON {"jid", "secret", "host", "port"}, answers {"ready": JID} when it is connected, and reports
{"notification": {"from", "node", "secret", "xml"}} for each notification. Ends when its input ends.
"""
import asyncio
import threading

import slixmpp

from child import options, orders, report

PUBSUB = "{http://jabber.org/protocol/pubsub}"
DATA = "{jabber:x:data}"


class PushService(slixmpp.ComponentXMPP):
    def __init__(self, wanted):
        super().__init__(wanted["jid"], wanted["secret"], wanted["host"], wanted["port"])
        self.add_event_handler("session_start", lambda _: report(ready=self.boundjid.full))
        self.register_handler(slixmpp.xmlstream.handler.Callback(
            "publications", slixmpp.xmlstream.matcher.MatchXPath("{jabber:component:accept}iq/%spubsub" % PUBSUB),
            self.published))

    def published(self, stanza):
        publish = stanza.xml.find(f"{PUBSUB}pubsub/{PUBSUB}publish")
        if stanza["type"] != "set" or publish is None:
            return
        fields = stanza.xml.findall(f"{PUBSUB}pubsub/{PUBSUB}publish-options/{DATA}x/{DATA}field")
        secrets = [field.findtext(f"{DATA}value") for field in fields if field.get("var") == "secret"]
        report(notification={
            "from": stanza["from"].full, "node": publish.get("node"), "secret": (secrets or [None])[0],
            "xml": str(stanza)})
        stanza.reply().send()


async def main():
    service = PushService(options())
    service.connect()
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def read():
        for _ in orders():
            pass
        loop.call_soon_threadsafe(ended.set_result, None)

    threading.Thread(target=read, daemon=True).start()
    await ended


asyncio.get_event_loop().run_until_complete(main())
