#!/usr/bin/python3
"""A long link on loopback: forwards connections to a port, with their data late, in order and at full speed.

Reads a line of JSON {"port": TARGET, "oneWay": SECONDS}, answers {"port"} and runs until the end of its input.
Each byte arrives one way's time after it was sent, and so does the end of a connection. On a real link connect()
returns after a round trip. Here the kernel answers at once, so the data that the client sends in the first round trip
counts as sent at its end. A connection therefore takes as long as on a real link if the client speaks first, as it does
in XMPP and in TLS. One thing differs from a real link: packets are acknowledged at once, so a side that waits for an
acknowledgement (Nagle's algorithm) waits too short a time.
"""
import asyncio
import socket
import sys

from child import options, report


async def carry(reader, writer, one_way, not_before):
    """Forwards each chunk of data when it is due, and continues to read in the meantime."""
    loop = asyncio.get_running_loop()
    due = asyncio.Queue()

    async def read():
        while True:
            try:
                data = await reader.read(1 << 18)
            except OSError:
                data = b""
            due.put_nowait((max(loop.time(), not_before) + one_way, data))
            if not data:
                return

    reading = asyncio.create_task(read())
    try:
        while True:
            when, data = await due.get()
            await asyncio.sleep(max(0, when - loop.time()))
            if not data:
                writer.write_eof()
                return
            writer.write(data)
    except OSError:
        pass
    finally:
        reading.cancel()


async def connected(wanted, reader, writer):
    one_way = wanted["oneWay"]
    accepted = asyncio.get_running_loop().time()
    # The time until the first packet of the connection arrives.
    await asyncio.sleep(one_way)
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", wanted["port"])
    except OSError:
        writer.transport.abort()
        return
    for end in (writer, far_writer):
        end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        await asyncio.gather(carry(reader, far_writer, one_way, accepted + 2 * one_way),
                             carry(far_reader, writer, one_way, accepted + one_way))
    finally:
        for end in (writer, far_writer):
            end.close()


async def main():
    wanted = options()
    tasks = set()

    def accept(reader, writer):
        task = asyncio.create_task(connected(wanted, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    report(port=server.sockets[0].getsockname()[1])
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()
    for task in list(tasks):
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
