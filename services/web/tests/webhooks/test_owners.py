"""Webhooks on pages: what was sent, and how they are changed."""

import pytest

from ingot_contracts.testing.forms import form_of

from ..forge import HOME, MOMENT
from ..world import ANN

DELIVERY = {
    "id": "d1", "event": "push", "action": "", "state": "failed", "attempts": 2, "status_code": 500,
    "error": "", "created_at": MOMENT, "next_attempt_at": None, "finished_at": MOMENT,
    "request": {"payload": {"ref": "<main>"}}, "response": {"headers": {"Server": "x"}, "body": "no"},
}  # fmt: skip
HOOK = {
    "id": 3, "active": True, "type": "gitea", "events": ["push"], "branch_filter": "", "disabled_reason": "",
    "config": {"url": "http://hook.example.org/", "content_type": "json"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("page", "api"),
    [("/org/crew/settings/hooks", "/orgs/crew/hooks"), ("/user/settings/hooks", "/user/hooks")],
)
async def test_a_webhook_is_made_and_what_failed_is_seen_and_sent_again(pages, forge, page, api):
    forge.answers |= {
        "/orgs/crew": {"username": "crew", "full_name": ""},
        api: [HOOK],
        f"POST {api}": HOOK,
        f"{api}/3": HOOK,
        f"{api}/3/deliveries": [DELIVERY],
        f"{api}/3/deliveries/d1": DELIVERY,
    }
    answer = await pages.submit(page, "Create webhook", to="/hooks", url="http://hook.example.org/")
    assert answer.headers["location"] == f"{page}/3"
    shown = (await pages.get(f"{page}/3", ANN)).text
    assert f'href="{page}/3/deliveries/d1"' in shown
    assert "answered 500" in shown
    assert "&lt;main&gt;" in (await pages.get(f"{page}/3/deliveries/d1", ANN)).text
    again = await pages.submit(f"{page}/3/deliveries/d1", "Redeliver", to="/deliveries/d1")
    assert again.headers["location"] == f"{page}/3/deliveries/d1"
    for button, body in (("Send test", {}), ("Disable", {"active": False}), ("Delete the webhook", {})):
        answer = await pages.submit(f"{page}/3", button, to="/hooks/3")
        assert forge.sent[-1][2] == body
    assert answer.headers["location"] == page
    targets = [f"{method} {path}" for method, path, _ in forge.sent]
    attempts = f"POST {api}/3/deliveries/d1/attempts"
    assert targets == [f"POST {api}", attempts, f"POST {api}/3/tests", f"PATCH {api}/3", f"DELETE {api}/3"]
    assert (await pages.get(f"{page}/3")).status_code == 401


@pytest.mark.parametrize(
    ("attempts", "waits", "can_send"), [(0, True, False), (2, False, False), (2, True, True)]
)
async def test_a_delivery_that_waits_for_its_next_attempt_can_be_sent_now(
    pages, forge, attempts, waits, can_send
):
    state = {"state": "pending" if waits else "running", "next_attempt_at": MOMENT if waits else None}
    forge.answers["/user/hooks/3/deliveries/d1"] = (
        DELIVERY | state | {"finished_at": None, "attempts": attempts}
    )
    shown = (await pages.get("/user/settings/hooks/3/deliveries/d1", ANN)).text
    assert ("Deliver now" in shown, "Sending." in shown) == (can_send, not can_send)
    # A retried delivery is not only pending. The page of a running delivery can be reloaded.
    assert (">Failing<" in shown, "tried again at" in shown) == (can_send, can_send)
    assert ('href="/user/settings/hooks/3/deliveries/d1">Reload' in shown) is not can_send


@pytest.mark.parametrize(
    ("page", "api"),
    [
        ("/ann/demo/settings/hooks/3", f"{HOME}/hooks/3"),
        ("/org/crew/settings/hooks/3", "/orgs/crew/hooks/3"),
        ("/user/settings/hooks/3", "/user/hooks/3"),
    ],
)
async def test_a_webhook_is_changed_and_keeps_what_its_form_does_not_show(pages, forge, page, api):
    forge.answers |= {
        "/orgs/crew": {"username": "crew", "full_name": ""},
        api: HOOK | {"events": ["push", "issue_label"], "branch_filter": "main"},
    }
    edit = f"{page}/edit"
    assert f'href="{edit}"' in (await pages.get(page, ANN)).text
    answer = await pages.submit(edit, "Save webhook", to="/edit", url="http://other.example.org/", issues="1")
    assert answer.headers["location"] == page
    config = {"url": "http://other.example.org/", "content_type": "json"}
    body = {"config": config, "events": ["push", "issues", "issue_label"], "branch_filter": "main"}
    assert forge.sent == [("PATCH", api, body)]
    for fields, secret in (({"secret": "new"}, "new"), ({"unsigned": "1"}, "")):
        await pages.submit(edit, "Save webhook", to="/edit", **fields)
        assert forge.sent[-1][2]["config"]["secret"] == secret
    for fields, header in (({"authorization_header": " Bearer t "}, "Bearer t"), ({"unauthorized": "1"}, "")):
        await pages.submit(edit, "Save webhook", to="/edit", **fields)
        assert forge.sent[-1][2]["authorization_header"] == header
    nothing = await pages.submit(edit, "Save webhook", to="/edit", push=[], other=[], url="http://third/")
    assert (nothing.status_code, len(forge.sent)) == (422, 5)
    assert 'value="http://third/"' in nothing.text
    assert "choose one at least" in nothing.text


@pytest.mark.parametrize(
    ("page", "to", "api"),
    [("/ann/demo/settings/hooks/new", "/new", f"{HOME}/hooks"), ("/user/settings/hooks", "", "/user/hooks")],
)
async def test_a_webhook_for_matrix_has_an_authorization_header_that_no_page_shows(
    pages, forge, page, to, api
):
    forge.answers[f"POST {api}"] = HOOK
    header = {"authorization_header": "Bearer s3cret"}
    await pages.submit(page, "Create webhook", to=to, url="http://m/", type="matrix", **header)
    assert forge.sent[-1][2].items() >= {"type": "matrix", **header}.items()
    await pages.submit(page, "Create webhook", to=to, url="http://m/", type="matrix")
    assert "authorization_header" not in forge.sent[-1][2]
    forge.refuses = 422
    refused = await pages.submit(page, "Create webhook", to=to, url="http://m/", **header)
    assert (refused.status_code, "s3cret" in refused.text) == (422, False)


OWNERS = (
    ("/ann/demo/settings/hooks/3", f"{HOME}/hooks/3"),
    ("/org/crew/settings/hooks/3", "/orgs/crew/hooks/3"),
    ("/user/settings/hooks/3", "/user/hooks/3"),
)
ACTS = (("", "Send test"), ("", "Disable"), ("", "Delete the webhook"), ("/deliveries/d1", "Redeliver"))
"""The end of the address of a page, and a button on the page."""


@pytest.mark.parametrize(("page", "api"), OWNERS)
@pytest.mark.parametrize(("end", "button"), ACTS)
async def test_what_is_refused_of_a_webhook_is_said_on_its_page(pages, forge, page, api, end, button):
    forge.answers |= {
        "/orgs/crew": {"username": "crew", "full_name": ""},
        api: HOOK,
        f"{api}/deliveries": [DELIVERY],
        f"{api}/deliveries/d1": DELIVERY,
    }
    shown = (await pages.get(page + end, ANN)).text
    forge.refuses = 422
    refused = await pages.submit(shown, button, to=page + end)
    assert (refused.status_code, 'role="alert"><p>refused' in refused.text) == (422, True)
    form_of(refused.text, page + end, button)

    forge.refuses, forge.down = 0, {"hooks"}
    away = await pages.submit(refused.text, button, to=page + end)
    assert (away.status_code, 'role="alert"><p>hooks cannot answer' in away.text) == (503, True)
    assert f'href="{page}">Reload the webhook' in away.text
    assert away.headers["retry-after"] == "1"
    assert "Settings" in away.text, "the frame of its page is there"


@pytest.mark.parametrize(
    ("page", "to"),
    [
        ("/ann/demo/settings/hooks/new", "/new"),
        ("/org/crew/settings/hooks", ""),
        ("/user/settings/hooks", ""),
    ],
)
async def test_a_new_webhook_that_hooks_cannot_take_keeps_what_was_written(pages, forge, page, to):
    forge.answers["/orgs/crew"] = {"username": "crew", "full_name": ""}
    shown = (await pages.get(page, ANN)).text
    forge.down = {"hooks"}
    away = await pages.submit(shown, "Create webhook", to=to or page, url="http://typed.example/")
    assert (away.status_code, away.headers["retry-after"]) == (503, "1")
    assert 'value="http://typed.example/"' in away.text
    assert ('role="alert"><p>hooks cannot answer' in away.text, "None yet." in away.text) == (True, False)
    form_of(away.text, to or page, "Create webhook")


async def test_a_webhook_for_slack_has_a_channel_and_keeps_the_look_of_its_messages(pages, forge):
    page, api = "/ann/demo/settings/hooks", f"{HOME}/hooks"
    look = {"username": "keeper", "icon_url": "http://x/i.png", "color": "#aabbcc"}
    slack = HOOK | {"type": "slack", "config": HOOK["config"] | {"channel": "#lamps"} | look}
    forge.answers |= {f"POST {api}": slack, f"{api}/3": slack}
    await pages.submit(f"{page}/new", "Create webhook", url="http://s/", type="slack", channel="#lamps")
    assert forge.sent[-1][2]["config"] == {"url": "http://s/", "content_type": "json", "channel": "#lamps"}
    await pages.submit(f"{page}/3/edit", "Save webhook", to="/edit", channel="#sea")
    assert forge.sent[-1][2]["config"] == slack["config"] | {"channel": "#sea"}
    forge.answers[f"{api}/3"] = HOOK
    assert 'name="channel"' not in (await pages.get(f"{page}/3/edit", ANN)).text
