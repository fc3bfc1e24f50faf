"""Invitations: the forms that send and withdraw them, and the page behind their links."""

import time
from datetime import UTC, datetime

import pytest

from ingot_contracts.identity.invitations import LinkedInvitation

from ..forge import ANN_USER, HOME, MOMENT
from ..test_forms import ANSWERS
from ..world import ANN, ROOT

TEAM, COLLABORATORS = "/org/crew/settings/teams/1", "/ann/demo/settings/collaboration"
PAGE = "/user/invitation"
LINK = f"{PAGE}?code=a%2Bb"
INVITATION = {
    "id": 5,
    "email": "<zoe>@x.example",
    "permission": "read",
    "inviter": ANN_USER,
    "created_at": MOMENT,
    "expires_at": MOMENT,
}


def linked(**changes):
    values = {
        "kind": "team",
        "target": "the team devs of <crew>",
        "path": "/crew",
        "inviter": "bob",
    } | changes
    return LinkedInvitation(inviter_id=2, expires_at=datetime(2030, 1, 1, tzinfo=UTC), **values)


@pytest.mark.parametrize(
    ("page", "api", "invited"),
    [
        (TEAM, "/orgs/crew/teams/1/{}", {"email": "z@x.example"}),
        (COLLABORATORS, f"{HOME}/{{}}", {"email": "z@x.example", "permission": "admin"}),
    ],
)
async def test_a_person_is_invited_and_an_invitation_withdrawn(pages, forge, page, api, invited):
    forge.answers |= ANSWERS | {api.format("invitations"): [INVITATION]}
    shown = (await pages.get(page, ROOT)).text
    assert ("&lt;zoe&gt;@x.example" in shown, "<zoe>" in shown) == (True, False)
    assert (await pages.submit(page, "Invite person", to=page, caller=ROOT, **invited)).status_code == 303
    people = api.format("collaborators" if page == COLLABORATORS else "members")
    assert forge.sent.pop() == ("POST", people, invited)
    assert (await pages.submit(page, "Withdraw", to=page, caller=ROOT)).status_code == 303
    assert forge.sent.pop() == ("DELETE", f"{api.format('invitations')}/5", {})


async def test_who_may_not_invite_sees_no_form(pages, forge):
    rights = dict.fromkeys(("is_owner", "is_admin", "can_read", "can_write", "can_create_repository"), False)
    forge.answers |= ANSWERS | {"/users/ann/orgs/crew/permissions": rights}
    forge.failures["/orgs/crew/teams/1/invitations"] = 404
    shown = await pages.get(TEAM, ANN)
    assert (shown.status_code, "Invite person" in shown.text) == (200, False)


@pytest.mark.parametrize(
    ("kind", "service", "path"),
    [("team", "identity", "/internal/team-invitations"), ("repository", "repos", "/internal/invitations")],
)
async def test_an_invitation_is_accepted_by_a_button(pages, forge, kind, service, path):
    forge.internal["GET /internal/invitations"] = forge.internal[f"POST {path}"] = linked(kind=kind)
    shown = await pages.get(LINK, ANN)
    assert ("&lt;crew&gt;" in shown.text, "<crew>" in shown.text) == (True, False)
    # Other sites do not get the secret in the address. With no-referrer a browser sends its form with the
    # origin null, which is refused.
    assert shown.headers["referrer-policy"] == "same-origin"
    assert ("POST", path) not in forge.calls
    answer = await pages.submit(LINK, "Accept invitation", to=PAGE, caller=ANN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/crew")
    assert forge.calls[-1] == ("POST", path)
    assert forge.targets[-1] == f"{service} {path}"


@pytest.mark.parametrize("may_register", [True, False])
async def test_an_anonymous_caller_signs_in_or_makes_an_account(pages, forge, may_register):
    forge.internal["GET /internal/invitations"] = linked(may_register=may_register)
    shown = (await pages.get(LINK)).text
    assert 'href="/login?to=/user/invitation%3Fcode%3Da%252Bb"' in shown
    assert ('href="/user/invited?code=a%2Bb"' in shown, "Accept invitation" in shown) == (may_register, False)


async def test_an_invitation_that_has_ended_says_so(pages, forge):
    for caller in (None, ANN):
        shown = await pages.get(LINK, caller)
        assert (shown.status_code, "not valid any more" in shown.text) == (404, True)
    form = {"code": "a+b", "token": pages.form_token(ANN, at=time.time())}
    assert (await pages.post(PAGE, form, ANN)).status_code == 404


async def test_a_refusal_is_shown_with_its_words(pages, forge):
    identity = forge.identity

    async def refuse(scope, receive, send):
        if scope["method"] == "GET":
            await identity(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 403, "headers": []})
        words = b'{"message": "bob may not invite people any more", "url": ""}'
        await send({"type": "http.response.body", "body": words})

    forge.internal["GET /internal/invitations"] = linked()
    forge.identity = refuse
    answer = await pages.submit(LINK, "Accept invitation", to=PAGE, caller=ANN)
    assert (answer.status_code, "bob may not invite people any more" in answer.text) == (403, True)
