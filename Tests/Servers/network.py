#!/usr/bin/python3
"""Two network namespaces with a link between them: one for a server, and one for a client whose address can change.

Reads a line of JSON {"port": PORT ON LOOPBACK}. Connections to the server's address, which can be reached only from the
client's namespace, are forwarded to that port. Answers {"namespace": PATH, "host", "port"}. An order {"move": ADDRESS}
replaces the address of the client's interface, {"remove": …} removes it, and {"add": ADDRESS} adds one; each order is
answered with {"done": N}. Requires root. The namespaces are deleted at the end of the input.
"""
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading

from child import options, orders, report

SERVER, CLIENT = "10.83.0.1", "10.83.0.2"
CLONE_NEWNET = 0x40000000


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=sys.stderr)


def listener(namespace):
    """Returns a socket that listens in another namespace. The thread then returns to its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as own, open(f"/run/netns/{namespace}") as other:
        if libc.setns(other.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return socket.create_server((SERVER, 0))
        finally:
            libc.setns(own.fileno(), CLONE_NEWNET)


def carry(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def relay(server, port):
    while True:
        near, _ = server.accept()
        far = socket.create_connection(("127.0.0.1", port))
        for ends in ((near, far), (far, near)):
            threading.Thread(target=carry, args=ends, daemon=True).start()


def main():
    wanted = options()
    names = [f"imctl-{os.getpid()}-{end}" for end in ("s", "c")]
    # SIGINT from the terminal reaches the whole group. The script ignores it, and ends at the end of its input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    made = []
    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", names[0], "link", "add", "im0", "type", "veth", "peer", "name", "im1", "netns", names[1])
        for name, link, address in ((names[0], "im0", SERVER), (names[1], "im1", CLIENT)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            # Automatic link-local addresses would appear seconds later, as changes that no order has caused.
            ip("-n", name, "link", "set", link, "addrgenmode", "none")
            ip("-n", name, "link", "set", link, "up")
        server = listener(names[0])
        threading.Thread(target=relay, args=(server, wanted["port"]), daemon=True).start()
        report(namespace=f"/run/netns/{names[1]}", host=SERVER, port=server.getsockname()[1])
        address = CLIENT
        for number, order in enumerate(orders(), 1):
            if "add" not in order:
                ip("-n", names[1], "addr", "del", f"{address}/24", "dev", "im1")
            new = order.get("move") or order.get("add")
            if new:
                ip("-n", names[1], "addr", "add", f"{new}/24", "dev", "im1")
                address = new
            report(done=number)
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], stdout=sys.stderr)


if __name__ == "__main__":
    main()
