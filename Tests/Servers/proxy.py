#!/usr/bin/python3
"""A proxy on loopback: SOCKS5 (RFC 1928, 1929) or HTTP CONNECT (RFC 9110 §9.3.6), with a table of host names.

Reads a line of JSON {"kind": "socks5" or "http", "user", "password", "names": {"HOST:PORT": PORT ON LOOPBACK}}, answers
{"port"}, reports {"asked": "HOST:PORT", "user"} for each connection, and runs until the end of its input. Each line of
the input is answered with {"told": LINE} after all earlier reports.
"""
import asyncio
import base64
import ipaddress
import sys

from child import options, report


class Refused(Exception):
    pass


async def socks5(wanted, reader, writer):
    version, count = await reader.readexactly(2)
    methods = await reader.readexactly(count)
    method = 2 if wanted["user"] else 0
    if version != 5 or method not in methods:
        writer.write(b"\x05\xff")
        raise Refused
    writer.write(bytes([5, method]))
    user = None
    if method == 2:
        await reader.readexactly(1)
        user = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        password = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        right = (user, password) == (wanted["user"], wanted["password"])
        writer.write(bytes([1, 0 if right else 1]))
        if not right:
            raise Refused
    _, command, _, kind = await reader.readexactly(4)
    if command != 1:
        raise Refused
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
    port = int.from_bytes(await reader.readexactly(2), "big")
    return f"{host}:{port}", user, b"\x05\x00\x00\x01\0\0\0\0\0\0", b"\x05\x04\x00\x01\0\0\0\0\0\0"


async def http(wanted, reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split(" ")
    fields = dict(line.split(": ", 1) for line in head[1:] if line)
    user = None
    if wanted["user"]:
        right = base64.b64encode(f"{wanted['user']}:{wanted['password']}".encode()).decode()
        if fields.get("Proxy-Authorization") != f"Basic {right}":
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            raise Refused
        user = wanted["user"]
    if method != "CONNECT":
        raise Refused
    return target, user, b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"


async def carry(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        pass


async def connected(wanted, reader, writer):
    far_writer = None
    try:
        speak = socks5 if wanted["kind"] == "socks5" else http
        target, user, success, failure = await speak(wanted, reader, writer)
        report(asked=target, user=user)
        port = wanted["names"].get(target)
        if port is None and target.startswith("127.0.0.1:"):
            port = int(target.split(":")[1])
        try:
            if port is None:
                raise OSError
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.write(failure)
            return
        writer.write(success)
        await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))
    except (Refused, OSError, EOFError, ValueError):
        pass
    finally:
        for end in (writer, far_writer):
            if end:
                end.close()


async def main():
    wanted = options()
    server = await asyncio.start_server(lambda *ends: connected(wanted, *ends), "127.0.0.1", 0)
    report(port=server.sockets[0].getsockname()[1])
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        report(told=line.strip())
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
