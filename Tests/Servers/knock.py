#!/usr/bin/python3
"""Asks a server for its stream features before a login, or for its answer to one <auth/>.

  knock.py '{"port", "directTLS", "domain", "account", "maximumTLS", "certificate", "mechanism", "response", "bind"}'

Starts TLS and prints the stream features. With a mechanism, sends <auth/> with the response (base64) and prints the
answer. With "bind", binds a resource after success and prints the answer to that. The header has `from`, since servers
offer SASL2 and FAST only with it.
"""
import json
import socket
import ssl
import sys

wanted = json.loads(sys.argv[1])
context = ssl.create_default_context()
# The programs under test verify certificates; this script only shows the server's offer.
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
if wanted.get("maximumTLS") == "1.2":
    context.maximum_version = ssl.TLSVersion.TLSv1_2
if wanted.get("certificate"):
    context.load_cert_chain(wanted["certificate"]["chainFile"], wanted["certificate"]["keyFile"])


def header(more=""):
    return (f"<?xml version='1.0'?><stream:stream to='{wanted['domain']}' version='1.0' xmlns='jabber:client'"
            f" xmlns:stream='http://etherx.jabber.org/streams'{more}>")


def read(*ends):
    text = ""
    while not any(end in text for end in ends):
        more = connection.recv(65536)
        if not more:
            raise SystemExit(f"the server closed the connection after {text!r}")
        text += more.decode()
    return text


connection = socket.create_connection(("127.0.0.1", wanted["port"]), 20)
if not wanted.get("directTLS"):
    connection.sendall((header() + "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>").encode())
    read("<proceed")
connection = context.wrap_socket(connection, server_hostname=wanted["domain"])
source = f" from='{wanted['account']}@{wanted['domain']}'"
connection.sendall(header(source).encode())
text = read("</stream:features>", "</stream:stream>")
text = text[text.index("<stream:features"):] if "<stream:features" in text else text
if wanted.get("mechanism"):
    connection.sendall((f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='{wanted['mechanism']}'>"
                        f"{wanted['response']}</auth>").encode())
    text = read("</challenge>", "<success", "</failure>", "</stream:stream>")
if wanted.get("bind") and "<success" in text:
    connection.sendall(header(source).encode())
    read("</stream:features>")
    connection.sendall(b"<iq type='set' id='1'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
    text = read("</iq>", "</stream:stream>")
print(text)
connection.sendall(b"</stream:stream>")
