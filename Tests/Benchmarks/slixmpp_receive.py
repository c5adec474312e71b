"""Prints the body of every message that slixmpp receives, one on each line, until it is ended.

  slixmpp_receive.py JID HOST PORT CA_FILE [direct] < PASSWORD

The first line is "ready".
"""
import os
import sys

import slixmpp

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Servers"))
from counterpart import without_channel_binding


class Receiver(slixmpp.ClientXMPP):
    def __init__(self, jid, password, ca_file):
        super().__init__(jid, password)
        without_channel_binding(self)
        self.ca_certs = ca_file
        self.register_plugin("xep_0199")
        self.add_event_handler("session_start", self.session_started)
        self.add_event_handler("message", lambda message: print(message["body"], flush=True))
        self.add_event_handler("failed_auth", lambda _: os._exit(1))

    async def session_started(self, _):
        await self.get_roster()
        self.send_presence()
        print("ready", flush=True)


jid, host, port, ca_file, *mode = sys.argv[1:]
client = Receiver(jid, sys.stdin.readline().rstrip("\n"), ca_file)
client.connect((host, int(port)), use_ssl=mode == ["direct"], disable_starttls=mode == ["direct"])
client.process()
