"""Logs in with slixmpp: connects, authenticates, binds, requests the roster, sends presence, and ends.

  slixmpp_login.py JID HOST PORT CA_FILE [direct] < PASSWORD
"""
import asyncio
import os
import sys

import slixmpp

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Servers"))
from counterpart import without_channel_binding


class Login(slixmpp.ClientXMPP):
    def __init__(self, jid, password, ca_file):
        super().__init__(jid, password)
        without_channel_binding(self)
        self.ca_certs = ca_file
        self.add_event_handler("session_start", self.session_started)
        self.add_event_handler("failed_auth", lambda _: os._exit(1))

    async def session_started(self, _):
        await self.get_roster()
        self.send_presence()
        await asyncio.sleep(0)
        os._exit(0)


jid, host, port, ca_file, *mode = sys.argv[1:]
client = Login(jid, sys.stdin.readline().rstrip("\n"), ca_file)
client.connect((host, int(port)), use_ssl=mode == ["direct"], disable_starttls=mode == ["direct"])
client.process()
