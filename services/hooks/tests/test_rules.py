"""Rules that need no database: subscriptions, schedule, signatures."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from ingot_hooks.core.health import reason_to_switch_off
from ingot_hooks.core.schedule import LONGEST_WAIT, PAUSES, judge
from ingot_hooks.core.signing import Message, prepared, standard_key
from ingot_hooks.core.subscriptions import EVENTS, kind_of, selected, wanted

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("subscribed", EVENTS)
def test_an_event_reaches_exactly_its_subscribers(event: str, subscribed: str) -> None:
    assert wanted([subscribed], "", event=event, kind=event, branch="main") is (event == subscribed)


@pytest.mark.parametrize(
    ("subscribed", "event", "action", "told"),
    [
        ("issues", "issues", "label_updated", True),
        ("issue_label", "issues", "label_updated", True),
        ("issue_label", "issues", "label_cleared", True),
        ("issue_label", "issues", "opened", False),
        ("issue_label", "pull_request", "label_updated", False),
        ("issue_assign", "issues", "unassigned", True),
        ("issue_milestone", "issues", "demilestoned", True),
        ("issues_only", "issues", "opened", True),
        ("issues_only", "issues", "label_updated", False),
        ("issues_only", "pull_request", "opened", False),
        ("pull_request", "pull_request", "synchronized", True),
        ("pull_request_sync", "pull_request", "synchronized", True),
        ("pull_request_sync", "pull_request", "opened", False),
        ("pull_request_assign", "pull_request", "assigned", True),
        ("pull_request_label", "pull_request", "label_updated", True),
        ("pull_request_milestone", "pull_request", "milestoned", True),
        ("pull_request_only", "pull_request", "closed", True),
        ("pull_request_only", "pull_request", "synchronized", False),
        ("pull_request_comment", "issue_comment", "created", False),
    ],
)
def test_a_hook_may_want_a_part_of_a_family(subscribed: str, event: str, action: str, told: bool) -> None:
    kind = kind_of(event, action)
    assert selected([subscribed]) == [subscribed]
    assert wanted([subscribed], "", event=event, kind=kind, branch="") is told


@pytest.mark.parametrize(
    ("branch_filter", "branch", "passes"),
    [
        ("", "main", True),
        ("main", "main", True),
        ("main", "maintenance", False),
        ("release/*", "release/1.0", True),
        ("release/*", "release/1.0/hotfix", True),
        ("{main,release/*}", "release/1", True),
        ("{main, dev}", "dev", True),
        ("{main,dev}", "feature", False),
        ("MAIN", "main", False),
        ("v[0-9]", "v1", True),
        ("[", "[", True),
        ("main", "", True),
        ("*" * 200, "m" * 200, True),
    ],
)
def test_a_branch_filter_is_a_pattern_or_a_list_of_them(
    branch_filter: str, branch: str, passes: bool
) -> None:
    assert wanted(["push"], branch_filter, event="push", kind="push", branch=branch) is passes


def test_naming_no_event_means_push() -> None:
    assert selected([]) == ["push"]


def test_the_schedule_has_ten_attempts_over_three_days() -> None:
    at, pauses = AT, []
    for attempt in range(1, len(PAUSES)):
        verdict = judge(500, "", attempts=attempt, at=at, jitter=0)
        assert verdict.again_at
        pauses.append(verdict.again_at - at)
        at = verdict.again_at
    assert tuple(pauses) == PAUSES[1:]
    assert timedelta(hours=75) < at - AT < timedelta(hours=76)
    assert judge(500, "", attempts=len(PAUSES), at=at, jitter=0).state == "failed"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (200, "delivered"),
        (204, "delivered"),
        (299, "delivered"),
        (301, "pending"),
        (404, "pending"),
        (0, "pending"),
        (503, "pending"),
        (410, "failed"),
    ],
)
def test_only_2xx_is_a_success_and_410_is_the_end(status: int, state: str) -> None:
    verdict = judge(status, "", attempts=1, at=AT, jitter=0)
    assert verdict.state == state
    assert verdict.gone is (status == 410)


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("120", timedelta(seconds=120)),
        ("1", timedelta(seconds=5)),
        ("Wed, 04 Mar 2026 05:16:07 GMT", timedelta(minutes=10)),
        ("Wed, 04 Mar 2020 05:16:07 GMT", timedelta(seconds=5)),
        ("9" * 5000, LONGEST_WAIT),
        ("-7", timedelta(seconds=5)),
        ("²", timedelta(seconds=5)),
        ("soon", timedelta(seconds=5)),
        ("Wed, 99 Mar 99999 99:99:99 GMT", timedelta(seconds=5)),
        ("Wed, 04 Mar 2026 05:16:07", timedelta(minutes=10)),
    ],
)
def test_retry_after_can_only_lengthen_the_pause(header: str, pause: timedelta) -> None:
    assert judge(503, header, attempts=1, at=AT, jitter=0).again_at == AT + pause


def test_jitter_moves_the_pause_by_a_tenth() -> None:
    for jitter, seconds in ((-1, 270), (1, 330)):
        assert judge(500, "", attempts=2, at=AT, jitter=jitter).again_at == AT + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("days", "attempts", "switched_off"),
    [(4, len(PAUSES), False), (5, len(PAUSES), True), (5, len(PAUSES) - 1, False), (500, 1, False)],
)
def test_a_hook_that_fails_for_long_is_switched_off_when_a_delivery_has_failed_for_good(
    days: int, attempts: int, switched_off: bool
) -> None:
    verdict = judge(500, "", attempts=attempts, at=AT, jitter=0)
    since = AT - timedelta(days=days)
    reason = reason_to_switch_off(
        verdict, "answered 500", failing_since=since, at=AT, limit=timedelta(days=5)
    )
    assert bool(reason) is switched_off


SECRETS = ["plain", "whsec_" + base64.b64encode(b"k" * 32).decode(), "whsec_not base64!", "ключ"]


@pytest.mark.parametrize("content_type", ["json", "form"])
@pytest.mark.parametrize("secret", SECRETS)
def test_standard_webhooks_libraries_accept_the_signature(secret: str, content_type: str) -> None:
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text='{"a": "ü"}'.encode())
    request = prepared(message, content_type=content_type, secrets=[secret], at=datetime.now(UTC))
    Webhook(standard_key(secret)).verify(request.body, dict(request.headers), json_parse=False)


def test_a_whsec_secret_is_what_libraries_take_as_it_is() -> None:
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text=b"{}")
    request = prepared(message, content_type="json", secrets=[SECRETS[1]], at=datetime.now(UTC))
    assert Webhook(SECRETS[1]).verify(request.body, dict(request.headers)) == {}


@pytest.mark.parametrize("content_type", ["json", "form"])
def test_older_signatures_cover_the_json_text(content_type: str) -> None:
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text=b'{"a": 1}')
    headers = prepared(message, content_type=content_type, secrets=["s"], at=AT).headers
    sha256 = hmac.new(b"s", message.text, hashlib.sha256).hexdigest()
    assert headers["X-Gitea-Signature"] == headers["X-Gogs-Signature"] == sha256
    assert headers["X-Hub-Signature-256"] == f"sha256={sha256}"
    assert headers["X-Hub-Signature"] == "sha1=" + hmac.new(b"s", message.text, hashlib.sha1).hexdigest()


def test_without_a_secret_nothing_is_signed() -> None:
    headers = prepared(
        Message(id="i", event="push", kind="push", sequence=1, text=b"{}"),
        content_type="json",
        secrets=[],
        at=AT,
    ).headers
    assert headers["X-Gitea-Signature"] == ""
    assert "webhook-signature" not in headers
    assert "X-Hub-Signature-256" not in headers


def test_every_family_of_headers_names_the_delivery_and_the_event() -> None:
    headers = prepared(
        Message(id="i", event="push", kind="push", sequence=9, text=b"{}"),
        content_type="json",
        secrets=[],
        at=AT,
    ).headers
    assert {headers[f"X-{name}-Delivery"] for name in ("Gitea", "Gogs", "GitHub")} == {"i"}
    assert {headers[f"X-{name}-Event"] for name in ("Gitea", "Gogs", "GitHub")} == {"push"}
    assert (headers["webhook-id"], headers["X-Ingot-Sequence"]) == ("i", "9")


def test_both_secrets_of_a_rotation_sign() -> None:
    message = Message(id="5f2c", event="push", kind="push", sequence=3, text=b"{}")
    request = prepared(message, content_type="json", secrets=["new", "old"], at=datetime.now(UTC))
    for secret in ("new", "old"):
        Webhook(standard_key(secret)).verify(request.body, dict(request.headers))
    assert request.headers["X-Gitea-Signature"] == hmac.new(b"new", b"{}", hashlib.sha256).hexdigest()


def test_the_part_of_the_family_is_in_a_header_of_its_own() -> None:
    message = Message(id="i", event="issues", kind="issue_label", sequence=1, text=b"{}")
    headers = prepared(message, content_type="json", secrets=[], at=AT).headers
    assert (headers["X-Gitea-Event"], headers["X-Gitea-Event-Type"]) == ("issues", "issue_label")
