"""The headers of a delivery, with the names that receivers of several systems know, and its signatures.

The older signatures cover the JSON text, with the secret as the user typed it. The signature of Standard
Webhooks covers the body that is sent. Its secret may be written as ``whsec_`` and base64.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

import msgspec

from ingot_hooks.catalog.store.tables import ContentType

USER_AGENT = "Ingot"
MEDIA_TYPES = {
    ContentType.JSON: "application/json",
    ContentType.FORM: "application/x-www-form-urlencoded",
}
PREFIX = "whsec_"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The message of a delivery, equal in every attempt."""

    id: str
    event: str
    kind: str
    sequence: int
    text: bytes


class SignedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Headers and body of one attempt."""

    headers: dict[str, str]
    body: bytes


def signed_request(
    message: Message,
    *,
    content_type: ContentType,
    secrets: Sequence[str],
    at: datetime,
    authorization: str = "",
) -> SignedRequest:
    """Return the request of an attempt at ``at``.

    ``secrets`` are the valid secrets, latest first. All of them sign for Standard Webhooks, whose header
    holds several signatures. The latest secret signs for the other headers.
    """
    secret = secrets[0] if secrets else ""
    body = message.text
    if content_type == ContentType.FORM:
        body = urlencode({"payload": message.text.decode()}).encode()
    timestamp = str(int(at.timestamp()))
    key = secret.encode()
    sha256 = hmac.digest(key, message.text, "sha256").hex() if secret else ""
    headers = {
        "Content-Type": MEDIA_TYPES[content_type],
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "X-Ingot-Sequence": str(message.sequence),
        "webhook-id": message.id,
        "webhook-timestamp": timestamp,
    }
    for system in ("Gitea", "Gogs", "GitHub", "Forgejo"):
        headers[f"X-{system}-Delivery"] = message.id
        headers[f"X-{system}-Event"] = message.event
        headers[f"X-{system}-Event-Type"] = message.kind
    for system in ("Gitea", "Gogs", "Forgejo"):
        headers[f"X-{system}-Signature"] = sha256
    if secret:
        headers["X-Hub-Signature"] = "sha1=" + hmac.digest(key, message.text, "sha1").hex()
        headers["X-Hub-Signature-256"] = "sha256=" + sha256
        signed = f"{message.id}.{timestamp}.".encode() + body
        digests = [hmac.digest(standard_webhooks_key(each), signed, "sha256") for each in secrets]
        headers["webhook-signature"] = " ".join(
            "v1," + base64.b64encode(digest).decode() for digest in digests
        )
    if authorization:
        headers["Authorization"] = authorization
    return SignedRequest(headers=headers, body=body)


def standard_webhooks_key(secret: str) -> bytes:
    """Return the key of a Standard Webhooks signature: the base64 after ``whsec_``, or the whole secret."""
    if secret.startswith(PREFIX):
        coded = secret.removeprefix(PREFIX)
        try:
            return base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True) or secret.encode()
        except (binascii.Error, ValueError):
            return secret.encode()
    return secret.encode()
