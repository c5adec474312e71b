"""Sends each line of a file as a message with slixmpp, and ends when the server has answered a ping after them.

  slixmpp_send.py JID HOST PORT CA_FILE TO FILE < PASSWORD
"""
import asyncio
import os
import sys

import slixmpp

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Servers"))
from counterpart import without_channel_binding


class Sender(slixmpp.ClientXMPP):
    def __init__(self, jid, password, ca_file, to, path):
        super().__init__(jid, password)
        without_channel_binding(self)
        self.ca_certs, self.to, self.path = ca_file, to, path
        self.register_plugin("xep_0198")
        self.register_plugin("xep_0199")
        self.add_event_handler("session_start", self.session_started)
        self.add_event_handler("failed_auth", lambda _: os._exit(1))

    async def session_started(self, _):
        with open(self.path) as file:
            for number, line in enumerate(file):
                self.send_message(mto=self.to, mbody=line.rstrip("\n"), mtype="chat")
                if number % 100 == 0:
                    await asyncio.sleep(0)
        await self.plugin["xep_0199"].ping(self.boundjid.host, timeout=600)
        os._exit(0)


jid, host, port, ca_file, to, path = sys.argv[1:]
client = Sender(jid, sys.stdin.readline().rstrip("\n"), ca_file, to, path)
client.connect((host, int(port)))
client.process()
