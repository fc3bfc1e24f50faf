"""Headers and signatures of a delivery."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from ingot_hooks.deliveries.rules.signing import Message, signed_request, standard_webhooks_key

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


SECRETS = ["plain", "whsec_" + base64.b64encode(b"k" * 32).decode(), "whsec_not base64!", "ключ"]


@pytest.mark.parametrize("content_type", ["json", "form"])
@pytest.mark.parametrize("secret", SECRETS)
def test_standard_webhooks_libraries_accept_the_signature(secret, content_type):
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text='{"a": "ü"}'.encode())
    request = signed_request(message, content_type=content_type, secrets=[secret], at=datetime.now(UTC))
    Webhook(standard_webhooks_key(secret)).verify(request.body, dict(request.headers), json_parse=False)


def test_libraries_accept_a_whsec_secret_as_it_is():
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text=b"{}")
    request = signed_request(message, content_type="json", secrets=[SECRETS[1]], at=datetime.now(UTC))
    assert Webhook(SECRETS[1]).verify(request.body, dict(request.headers)) == {}


@pytest.mark.parametrize("content_type", ["json", "form"])
def test_older_signatures_cover_the_json_text(content_type):
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text=b'{"a": 1}')
    headers = signed_request(message, content_type=content_type, secrets=["s"], at=AT).headers
    sha256 = hmac.new(b"s", message.text, hashlib.sha256).hexdigest()
    assert {headers[f"X-{name}-Signature"] for name in ("Gitea", "Gogs", "Forgejo")} == {sha256}
    assert headers["X-Hub-Signature-256"] == f"sha256={sha256}"
    assert headers["X-Hub-Signature"] == "sha1=" + hmac.new(b"s", message.text, hashlib.sha1).hexdigest()


def test_without_a_secret_nothing_is_signed():
    headers = signed_request(
        Message(id="i", event="push", kind="push", sequence=1, text=b"{}"),
        content_type="json",
        secrets=[],
        at=AT,
    ).headers
    assert headers["X-Gitea-Signature"] == ""
    assert "webhook-signature" not in headers
    assert "X-Hub-Signature-256" not in headers


def test_every_family_of_headers_names_the_delivery_and_the_event():
    headers = signed_request(
        Message(id="i", event="push", kind="push", sequence=9, text=b"{}"),
        content_type="json",
        secrets=[],
        at=AT,
    ).headers
    assert {headers[f"X-{name}-Delivery"] for name in ("Gitea", "Gogs", "GitHub", "Forgejo")} == {"i"}
    assert {headers[f"X-{name}-Event"] for name in ("Gitea", "Gogs", "GitHub", "Forgejo")} == {"push"}
    assert (headers["webhook-id"], headers["X-Ingot-Sequence"]) == ("i", "9")


def test_both_secrets_of_a_rotation_sign():
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text=b"{}")
    request = signed_request(message, content_type="json", secrets=["new", "old"], at=datetime.now(UTC))
    for secret in ("new", "old"):
        Webhook(standard_webhooks_key(secret)).verify(request.body, dict(request.headers))
    assert request.headers["X-Gitea-Signature"] == hmac.new(b"new", b"{}", hashlib.sha256).hexdigest()


def test_the_part_of_the_family_is_in_a_header_of_its_own():
    message = Message(id="i", event="issues", kind="issue_label", sequence=1, text=b"{}")
    headers = signed_request(message, content_type="json", secrets=[], at=AT).headers
    assert (headers["X-Gitea-Event"], headers["X-Gitea-Event-Type"]) == ("issues", "issue_label")
