"""An authenticator in software: keys, counters and flags, with an encoder of its own (RFC 8949)."""

import base64
import hashlib
import json
import re
import secrets
import struct
from html import unescape

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

from ..applications import Person, forms

ORIGIN, RP_ID = "http://localhost:3000", "localhost"
USER_PRESENT, USER_VERIFIED, ATTESTED = 1, 4, 64


def b64(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def cbor(value):
    """Encode integers, bytes, texts and maps."""
    match value:
        case int() if value >= 0:
            return _head(0, value)
        case int():
            return _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case _:
            return _head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())


def _head(kind, number):
    if number < 24:
        return bytes([kind << 5 | number])
    if number < 256:
        return bytes([kind << 5 | 24, number])
    return bytes([kind << 5 | 25]) + struct.pack(">H", number)


class Authenticator:
    """A device with passkeys. Changes of a call are what an attacker would forge."""

    def __init__(self):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id, self.user_handle, self.counter = secrets.token_bytes(32), b"", 0

    def create(self, options, **changes):
        """Return the answer to options for a new credential."""
        self.user_handle = unb64(options["user"]["id"])
        numbers = self._key.public_key().public_numbers()
        key = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        key |= changes.pop("key", {})
        credential_id = changes.pop("credential_id", self.credential_id)
        attested = bytes(16) + struct.pack(">H", len(credential_id)) + credential_id + cbor(key)
        client_data, data = self._signed(options, "webauthn.create", ATTESTED, changes)
        attestation = cbor({"fmt": "none", "attStmt": {}, "authData": data + attested})
        response = {"clientDataJSON": b64(client_data), "attestationObject": b64(attestation)}
        return _answer(credential_id, response)

    def get(self, options, **changes):
        """Return the answer to options to use the credential."""
        self.counter += 1
        handle = changes.pop("user_handle", self.user_handle)
        credential_id = changes.pop("credential_id", self.credential_id)
        forged = changes.pop("signature", None)
        client_data, data = self._signed(options, "webauthn.get", 0, changes)
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": b64(client_data),
            "authenticatorData": b64(data),
            "signature": b64(signature if forged is None else forged),
        }
        return _answer(credential_id, response | ({"userHandle": b64(handle)} if handle else {}))

    def _signed(self, options, kind, flags, changes):
        flags |= changes.pop("flags", USER_PRESENT | USER_VERIFIED)
        rp_id, counter = changes.pop("rp_id", RP_ID), changes.pop("counter", self.counter)
        client_data = {
            "type": changes.pop("type", kind),
            "challenge": changes.pop("challenge", options["challenge"]),
            "origin": changes.pop("origin", ORIGIN),
            "crossOrigin": changes.pop("cross_origin", False),
        }
        assert not changes, changes
        data = hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + struct.pack(">I", counter)
        return json.dumps(client_data).encode(), data


def _answer(credential_id, response):
    id_ = b64(credential_id)
    return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": response})


def options_of(page):
    """The options of the passkey button on a page."""
    return json.loads(unescape(re.search(r'data-options="([^"]*)"', page.text)[1]))


def form_with_passkey(page):
    """The number of the form with the passkey button."""
    return next(number for number, (_, fields) in enumerate(forms(page.text)) if "state" in fields)


async def use(person, page, device, **changes):
    """Send the form of the passkey button on a page."""
    fields = {name: changes.pop(name) for name in ("state", "password") if name in changes}
    answer = device.get(options_of(page), **changes)
    return await person.submit(page, form_with_passkey(page), credential=answer, **fields)


async def add_passkey(person, name="laptop", device=None, **changes):
    """Add a passkey of a person who is signed in; the device and the page after it."""
    device, page = device or Authenticator(), await person.get("/login/passkeys")
    answer = device.create(options_of(page), **changes)
    return device, await person.submit(page, form_with_passkey(page), credential=answer, name=name)


async def signed_in(world, name):
    """A browser of a person who has signed in with the password."""
    person = Person(world, name)
    await person.sign_in(await person.get("/login"))
    return person
