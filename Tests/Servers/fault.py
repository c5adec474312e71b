#!/usr/bin/python3
"""A link that breaks on order: forwards connections to a port on loopback.

Reads a line of JSON {"port": TARGET}, answers {"port"}, and obeys until the end of its input. Each order has a
"number" and is answered with {"done": NUMBER}:

  {"order": "fault", "fault": KIND}          to the newest connection, now
  {"order": "fault", "fault": KIND, "flight": N, "next": true}
                                             before the Nth flight of the next connection is forwarded
  {"order": "fault", "fault": KIND, "up"|"down": BYTES}
                                             when that many more bytes of the newest connection have been forwarded
  {"order": "resume"}                        forwards the data that is held back, and forgets faults that wait; data
                                             held back on connections before the newest one is lost together with them
  {"order": "open"}                          forwards later connections again
  {"order": "look"}                          does nothing; all earlier events are reported before the answer

A flight is the data that one end sends until the other one answers; the first one is the client's. KIND is
  cut          both ends see a reset             close       both ends see the end of the other's input, and theirs
  halfUp       the server sees the client's end  halfDown    the client sees the server's end; the other way goes on
  stall, stallUp, stallDown                      data is accepted, and kept until `resume`
  delay        everything arrives a quarter of a second late from now on
  away         as cut, and every later connection is reset until `open` or `resume`
Reports {"connection": N} for each connection and {"fired": KIND, "connection": N, "flight": N} for each fault.
"""
import asyncio
import socket
import struct
import sys

from child import options, orders, report


class Link:
    """One connection, which consists of two sockets and the data between them."""

    def __init__(self, proxy, number, client, server):
        self.proxy, self.number = proxy, number
        self.ends = {"up": (client, server), "down": (server, client)}
        self.held = {"up": asyncio.Event(), "down": asyncio.Event()}
        for event in self.held.values():
            event.set()
        self.lateness = 0
        self.flights, self.last = 0, None
        self.armed, self.tasks = [], []
        # The directions whose end was passed on; later data in them is lost.
        self.ended = set()
        self.is_over = False

    async def run(self):
        self.tasks = [asyncio.create_task(self.carry(direction)) for direction in self.ends]
        await asyncio.wait(self.tasks)
        self.end()

    async def carry(self, direction):
        source, target = self.ends[direction]
        loop = asyncio.get_running_loop()
        while not self.is_over:
            try:
                data = await loop.sock_recv(source, 1 << 16)
            except OSError:
                return self.cut()
            if self.is_over:
                return
            if data:
                self.inspect(direction, len(data))
            if direction in self.ended:
                if data:
                    continue
                return
            if self.lateness:
                await asyncio.sleep(self.lateness)
            await self.held[direction].wait()
            if self.is_over:
                return
            try:
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                await loop.sock_sendall(target, data)
            except OSError:
                return self.cut()

    def inspect(self, direction, count):
        """Causes the faults that wait for these bytes, before the bytes are forwarded."""
        if self.last != direction:
            self.last = direction
            self.flights += 1
        for waiting in list(self.armed):
            if direction in waiting:
                waiting[direction] -= count
            if waiting.get("flight") == self.flights or waiting.get(direction, 1) <= 0:
                self.armed.remove(waiting)
                self.fire(waiting["fault"], waiting.get("flight"))

    def fire(self, kind, flight=None):
        report(fired=kind, connection=self.number, flight=flight)
        getattr(self, kind)()

    def cut(self):
        if self.is_over:
            return
        for end, _ in self.ends.values():
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end()

    def end(self):
        if self.is_over:
            return
        self.is_over = True
        loop = asyncio.get_running_loop()
        for end, _ in self.ends.values():
            # The loop must forget a descriptor before it is closed, or it stays in use.
            loop.remove_reader(end)
            loop.remove_writer(end)
            end.close()
        for task in self.tasks:
            task.cancel()
        self.proxy.links.discard(self)

    def close(self):
        self.end()

    def half(self, direction):
        _, target = self.ends[direction]
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.ended.add(direction)

    def halfUp(self):
        self.half("up")

    def halfDown(self):
        self.half("down")

    def stallUp(self):
        self.held["up"].clear()

    def stallDown(self):
        self.held["down"].clear()

    def stall(self):
        self.stallUp()
        self.stallDown()

    def delay(self):
        self.lateness = 0.25

    def away(self):
        self.proxy.is_away = True
        self.cut()

    def resume(self):
        self.armed = []
        self.lateness = 0
        for event in self.held.values():
            event.set()


class Proxy:
    def __init__(self, port):
        self.port = port
        self.links = set()
        self.newest = None
        self.count = 0
        self.next = []
        self.is_away = False

    async def serve(self, listener):
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(listener)
            if self.is_away:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
                continue
            loop.create_task(self.connect(client))

    async def connect(self, client):
        server = socket.socket()
        server.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(server, ("127.0.0.1", self.port))
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            server.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.count += 1
        link = self.newest = Link(self, self.count, client, server)
        self.links.add(link)
        link.armed, self.next = self.next, []
        report(connection=self.count)
        await link.run()

    def obey(self, order):
        if order["order"] == "resume":
            self.is_away = False
            self.next = []
            for link in list(self.links):
                link.resume() if link is self.newest else link.cut()
        elif order["order"] == "look":
            pass
        elif order["order"] == "open":
            self.is_away = False
        elif order.get("next"):
            self.next.append(order)
        elif "up" in order or "down" in order:
            if self.newest is not None:
                self.newest.armed.append(order)
        elif self.newest is not None and not self.newest.is_over:
            self.newest.fire(order["fault"])
        elif order["fault"] == "away":
            self.is_away = True
        report(done=order["number"])


async def main():
    wanted = options()
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    listener.setblocking(False)
    proxy = Proxy(wanted["port"])
    loop = asyncio.get_running_loop()
    serving = loop.create_task(proxy.serve(listener))
    report(port=listener.getsockname()[1])

    def read():
        for order in orders():
            loop.call_soon_threadsafe(proxy.obey, order)

    await loop.run_in_executor(None, read)
    serving.cancel()
    for link in list(proxy.links):
        link.end()
    listener.close()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
