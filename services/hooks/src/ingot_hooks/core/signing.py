"""The headers of a delivery: names that receivers of several systems look for, and signatures over the body.

The older signatures cover the JSON text with the secret as it was typed. The one of Standard Webhooks covers
the body as sent; its secret may be written as ``whsec_`` and base64.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

import msgspec

USER_AGENT = "Ingot"
CONTENT_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded"}
PREFIX = "whsec_"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What one delivery says, the same in every attempt."""

    id: str
    event: str
    kind: str
    sequence: int
    text: bytes


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """One request, ready to be sent."""

    headers: dict[str, str]
    body: bytes


def prepared(
    message: Message, *, content_type: str, secrets: Sequence[str], at: datetime, authorization: str = ""
) -> Post:
    """The request of an attempt at ``at``.

    ``secrets``, newest first, are those that are valid: all sign for Standard Webhooks, whose header has room
    for them, and the newest signs for the others.
    """
    secret = secrets[0] if secrets else ""
    body = message.text
    if content_type == "form":
        body = urlencode({"payload": message.text.decode()}).encode()
    timestamp = str(int(at.timestamp()))
    key = secret.encode()
    sha256 = hmac.new(key, message.text, hashlib.sha256).hexdigest() if secret else ""
    headers = {
        "Content-Type": CONTENT_TYPES[content_type],
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "X-Ingot-Sequence": str(message.sequence),
        "webhook-id": message.id,
        "webhook-timestamp": timestamp,
    }
    for system in ("Gitea", "Gogs", "GitHub"):
        headers[f"X-{system}-Delivery"] = message.id
        headers[f"X-{system}-Event"] = message.event
        headers[f"X-{system}-Event-Type"] = message.kind
    headers["X-Gitea-Signature"] = headers["X-Gogs-Signature"] = sha256
    if secret:
        headers["X-Hub-Signature"] = "sha1=" + hmac.new(key, message.text, hashlib.sha1).hexdigest()
        headers["X-Hub-Signature-256"] = "sha256=" + sha256
        signed = f"{message.id}.{timestamp}.".encode() + body
        digests = [hmac.new(standard_key(each), signed, hashlib.sha256).digest() for each in secrets]
        headers["webhook-signature"] = " ".join(
            "v1," + base64.b64encode(digest).decode() for digest in digests
        )
    if authorization:
        headers["Authorization"] = authorization
    return Post(headers=headers, body=body)


def standard_key(secret: str) -> bytes:
    """The bytes that Standard Webhooks signs with."""
    if secret.startswith(PREFIX):
        coded = secret.removeprefix(PREFIX)
        try:
            return base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True) or secret.encode()
        except (binascii.Error, ValueError):
            return secret.encode()
    return secret.encode()
