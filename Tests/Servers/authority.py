#!/usr/bin/python3
"""Issues certificates for tests by a private authority, both valid ones and ones with a deliberate fault.

Reads a line of JSON and answers {"caFile": PATH}. Then answers each line {"number", "kind", "names"} with a line
{"number", "chainFile", "keyFile"}. Deletes all files at the end of its input.
"""
import datetime
import os
import subprocess

from child import options, orders, report, temporary

CONFIG = """
[ca]
default_ca = here
[here]
database = {directory}/index.txt
new_certs_dir = {directory}
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = none
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
commonName = imctl test
"""


XMPP_ADDR = bytes.fromhex("06082b06010505070805")


def tlv(tag, *parts):
    """Encodes a DER value that is shorter than 128 bytes."""
    content = b"".join(parts)
    return bytes([tag, len(content)]) + content


class Authority:
    """A certificate authority in `directory`."""

    def __init__(self, directory, name="imctl test authority"):
        self.directory = directory
        self.count = 0
        os.makedirs(directory, exist_ok=True)
        self.config = os.path.join(directory, "openssl.cnf")
        open(os.path.join(directory, "index.txt"), "w").close()
        with open(self.config, "w") as file:
            file.write(CONFIG.format(directory=directory))
        self.certificate = os.path.join(directory, "ca.pem")
        self.key = os.path.join(directory, "ca.key")
        request = self._request(self.key, name)
        self._sign(request, self.certificate, self_signed=self.key,
                   extensions="basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
                              "subjectKeyIdentifier=hash\n")

    def issue(self, kind, names):
        """Issues a certificate, and returns the paths of its chain and of its key."""
        self.count += 1
        base = os.path.join(self.directory, f"{kind}-{self.count}")
        key, chain = base + ".key", base + ".pem"
        common = names[0] if kind not in ("addressOnly",) else "127.0.0.1"
        request = self._request(key, common)
        alternative = "subjectAltName=" + ",".join("DNS:" + name for name in names) + "\n"
        if kind in ("addressOfXMPP", "client"):
            # OpenSSL's notation for extensions reads the text as Latin-1.
            address = tlv(0xA0, XMPP_ADDR, tlv(0xA0, tlv(0x0C, common.encode())))
            alternative = "subjectAltName=DER:" + tlv(0x30, address).hex() + "\n"
        if kind == "addressOnly":
            alternative = "subjectAltName=IP:127.0.0.1\n"
        if kind == "commonNameOnly":
            alternative = ""
        usage = "clientAuth" if kind == "client" else "serverAuth"
        extensions = f"basicConstraints=critical,CA:FALSE\nextendedKeyUsage={usage}\n" + alternative
        now = datetime.datetime.now(datetime.timezone.utc)
        hour, day = datetime.timedelta(hours=1), datetime.timedelta(days=1)
        sign = dict(extensions=extensions)
        behind = []
        if kind == "selfSigned":
            sign["self_signed"] = key
        elif kind == "expired":
            sign.update(start=now - 30 * day, end=now - hour)
        elif kind == "notYetValid":
            sign.update(start=now + day, end=now + 30 * day)
        elif kind == "sha1":
            sign["digest"] = "sha1"
        elif kind == "signedByLeaf":
            leaf, leaf_key = self.issue("valid", names)
            sign["signer"] = (leaf, leaf_key)
            behind = [leaf]
        elif kind == "otherAuthority":
            other = Authority(os.path.join(self.directory, f"other-{self.count}"), "imctl other authority")
            return other.issue("valid", names)
        self._sign(request, chain, **sign)
        with open(chain, "a") as file:
            for more in behind:
                file.write(open(more).read())
        return chain, key

    def _request(self, key, name):
        request = key + ".csr"
        self._openssl("req", "-new", "-config", self.config, "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=" + name)
        return request

    def _sign(self, request, out, extensions, self_signed=None, signer=None, start=None, end=None, digest=None):
        now = datetime.datetime.now(datetime.timezone.utc)
        start = start or now - datetime.timedelta(hours=2)
        end = end or now + datetime.timedelta(days=2)
        file = out + ".ext"
        with open(file, "w") as text:
            text.write(extensions)
        by = ["-selfsign", "-keyfile", self_signed] if self_signed else \
            ["-cert", (signer or (self.certificate,))[0], "-keyfile", signer[1] if signer else self.key]
        stamp = "%Y%m%d%H%M%SZ"
        self._openssl("ca", "-batch", "-notext", "-config", self.config, "-in", request, "-out", out,
                      "-extfile", file, "-startdate", start.strftime(stamp), "-enddate", end.strftime(stamp),
                      *(["-md", digest] if digest else []), *by)

    def _openssl(self, *arguments):
        done = subprocess.run(["/usr/bin/openssl", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {' '.join(arguments)}: {done.stderr}")


def main():
    options()
    with temporary() as directory:
        authority = Authority(directory)
        report(caFile=authority.certificate)
        for order in orders():
            chain, key = authority.issue(order["kind"], order["names"])
            report(number=order["number"], chainFile=chain, keyFile=key)


if __name__ == "__main__":
    main()
