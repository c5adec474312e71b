"""The preparation of Prosody for serve.py."""
import json
import os

# The modules for SASL2 with Bind 2 and FAST. Debian 12's modules of these names do not work.
NEWER = ["sasl2", "sasl2_bind2", "sasl2_sm", "sasl2_fast", "sasl_ssdp"]


def prepare(server):
    """Writes the configuration and the accounts, and returns the command and the environment of the server."""
    options = server.options
    modules = options["extraModules"] + (NEWER if server.is_newer else [])
    tls = {"key": server.inside + "/key.pem", "certificate": server.inside + "/chain.pem",
           "protocol": "tlsv1_2" if options["maximumTLS"] == "1.2" else "tlsv1_2+"}
    if options["clientAuthority"]:
        if not server.is_newer:
            raise SystemExit("Debian 12 has no Prosody module for clients' certificates")
        tls.update(cafile=server.inside + "/clients.pem", verify=["peer"])
    lines = list(options["hostLines"])
    if options["clientAuthority"]:
        lines.append('authentication = "ccert"')
    if options["anonymousDomain"]:
        lines += ["VirtualHost " + json.dumps(options["anonymousDomain"]), 'authentication = "anonymous"']
    if options["component"]:
        lines += ["Component " + json.dumps(options["component"]), 'component_secret = "component-secret"']
    more = []
    for name, value in (("sasl2_fast_token_ttl", options["fastTokenLifetime"]),
                        ("sasl2_fast_token_min_ttl", options["fastTokenRefreshAge"]),
                        ("test_token_lifetime", options["bearerTokenLifetime"])):
        if value is not None:
            more.append(f"{name} = {value}")
    config = server.fill(
        "prosody.cfg.lua", AUTHENTICATION="internal_" + options["passwordStore"], PASSWORD_HASH=options["hash"],
        REGISTRATION=json.dumps(options["registration"]), TLS=lua(tls), MORE="\n".join(more),
        COMPONENT_PORTS=server.component_port if options["component"] else "", HOST_LINES="\n".join(lines), DISABLED=lua(options["withoutModules"])[1:-1],
        MODULES="".join(json.dumps(name) + ";" for name in modules))
    server.write("groups.txt", "[Friends]\n" + "".join(f"{name}@{server.domain}\n" for name in server.friends))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mod_test_started.lua")) as file:
        server.write("modules/mod_test_started.lua", file.read())
    # Prosody reads an account from its data file, so that no admin command and no second process are needed.
    for name, password in server.accounts.items():
        account = {"password": password}
        if name in options["disabled"]:
            account["disabled"] = True
        server.write(f"data/{escaped(server.domain)}/accounts/{escaped(name)}.dat", f"return {lua(account)};\n")
    return ["/usr/bin/prosody", "-F", "--config", config], {"HOME": server.inside}


def escaped(name):
    """Writes a name in the form of Prosody's file store."""
    return "".join(letter if letter.isascii() and letter.isalnum() else
                   "".join(f"%{byte:02x}" for byte in letter.encode()) for letter in name)


def lua(value):
    """Writes a value in Lua notation."""
    if isinstance(value, dict):
        return "{" + " ".join(f"[{lua(name)}] = {lua(one)};" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "{" + " ".join(lua(one) + ";" for one in value) + "}"
    return json.dumps(value, ensure_ascii=False)
