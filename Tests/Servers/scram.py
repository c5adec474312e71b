"""The server's side of SCRAM (RFC 5802, RFC 7677), correct or with a deliberate error."""
import base64
import hashlib
import hmac
import os
import xml.etree.ElementTree as ElementTree

SASL = "urn:ietf:params:xml:ns:xmpp-sasl"
HASHES = {"SCRAM-SHA-1": "sha1", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class Exchange:
    """Reads `<auth/>` from a connection and plays SCRAM up to success, with the error that `variant` names."""

    def __init__(self, wire, wanted, mismatch):
        self.wire = wire
        self.variant = wanted["variant"]
        self.password = wanted["password"].encode()
        self.iterations = wanted["iterations"]
        self.mismatch = mismatch

    def run(self):
        auth = self.take("auth")
        mechanism = auth.get("mechanism")
        if mechanism not in HASHES:
            raise self.mismatch(f"{mechanism} is no SCRAM mechanism this server knows")
        hash = HASHES[mechanism]
        if self.variant == "bareSuccess":
            return self.give("success")
        first = self.decoded(auth)
        bare = first.split(",", 2)[2]
        client_nonce = bare.split(",r=", 1)[1].split(",")[0]
        salt = os.urandom(16)
        challenge = self.challenge(client_nonce, salt)
        if self.variant == "successBeforeProof":
            # The signature is correct; only the order is wrong.
            final = "c=biws,r=" + client_nonce
            return self.give("success", self.signature(hash, salt, f"{bare},{challenge},{final}")[1])
        self.give("challenge", challenge)
        response = self.decoded(self.take("response"))
        final, proof = response.rsplit(",p=", 1)
        expected, signature = self.signature(hash, salt, f"{bare},{challenge},{final}")
        if base64.b64decode(proof) != expected:
            self.give_xml(f"<failure xmlns='{SASL}'><not-authorized/></failure>")
            raise self.mismatch("the client's proof is wrong")
        if self.variant == "wrongSignature":
            signature = "v=" + base64.b64encode(os.urandom(hashlib.new(hash).digest_size)).decode()
        elif self.variant == "serverError":
            signature = "e=other-error"
        elif self.variant == "missingSignature":
            return self.give("success")
        self.give("success", signature)

    def challenge(self, client_nonce, salt):
        own = base64.b64encode(os.urandom(18)).decode()
        nonce, encoded, extension = client_nonce + own, base64.b64encode(salt).decode(), ""
        if self.variant == "foreignNonce":
            nonce = own + own
        elif self.variant == "emptyNonce":
            nonce = ""
        elif self.variant == "unchangedNonce":
            nonce = client_nonce
        elif self.variant == "emptySalt":
            encoded = ""
        elif self.variant == "saltNotBase64":
            encoded = "!!!!"
        elif self.variant == "mandatoryExtension":
            extension = "m=future,"
        return f"{extension}r={nonce},s={encoded},i={self.iterations}"

    def signature(self, hash, salt, message):
        """Returns the proof that a client must send, and the signature of the server."""
        try:
            iterations = int(self.iterations)
        except ValueError:
            iterations = 0
        # A client that accepts such an iteration count has already failed the test, which need not wait for the
        # derivation.
        if not 1 <= iterations <= 10_000_000:
            raise self.mismatch(f"the client went on with i={self.iterations}")
        salted = hashlib.pbkdf2_hmac(hash, self.password, salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", hash)
        stored = hashlib.new(hash, client_key).digest()
        mask = hmac.digest(stored, message.encode(), hash)
        proof = bytes(one ^ other for one, other in zip(client_key, mask))
        server = hmac.digest(hmac.digest(salted, b"Server Key", hash), message.encode(), hash)
        return proof, "v=" + base64.b64encode(server).decode()

    def take(self, name):
        kind, element = self.wire.next()
        if kind != "element" or element.tag != f"{{{SASL}}}{name}":
            shown = kind if element is None else ElementTree.tostring(element, encoding="unicode")
            raise self.mismatch(f"expected <{name}/>, got {shown}")
        return element

    def decoded(self, element):
        try:
            return base64.b64decode(element.text or "", validate=True).decode()
        except ValueError as error:
            raise self.mismatch(f"{element.tag} has no valid base64: {error}")

    def give(self, name, text=""):
        self.give_xml(f"<{name} xmlns='{SASL}'>{base64.b64encode(text.encode()).decode()}</{name}>")

    def give_xml(self, text):
        self.wire.write(text.encode())
