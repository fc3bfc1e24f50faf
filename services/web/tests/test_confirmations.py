"""Irreversible actions ask for a confirmation that says what follows; saved changes are confirmed."""

import re

import pytest

from .forge import ANN_USER, HOME, MOMENT
from .milestones.test_milestones import MILESTONE
from .releases.test_releases import RELEASE
from .repository_settings.test_protections import ON_THE_LIST
from .test_calls import GPG_KEY
from .test_forms import ANSWERS
from .webhooks.test_owners import HOOK
from .world import ANN, BOB

KEY = {"id": 5, "title": "laptop", "fingerprint": "SHA256:x", "read_only": True}
TOKEN = {"id": 5, "name": "ci", "scopes": ["all"]}
TEAM = {"id": 5, "name": "builders", "permission": "read", "description": ""}
TAG_RULE = {"id": 5, "name_pattern": "v*", "whitelist_usernames": [], "whitelist_teams": []}
PUBLISHED = RELEASE | {"assets": [], "author": ANN_USER, "published_at": MOMENT, "created_at": MOMENT}
CONFIRMED = [
    ("/ann/demo/milestones", f"{HOME}/milestones", [MILESTONE], "Delete One &amp; two"),
    ("/ann/demo/settings/hooks/3", f"{HOME}/hooks/3", HOOK, "Delete the webhook"),
    ("/ann/demo/settings/keys", f"{HOME}/keys", [KEY], "Remove laptop"),
    ("/ann/demo/settings/branches", f"{HOME}/branch_protections", [ON_THE_LIST], "Remove the rule release/*"),
    ("/ann/demo/settings/branches", f"{HOME}/tag_protections", [TAG_RULE], "Remove the rule v*"),
    ("/ann/demo/releases", f"{HOME}/releases", [PUBLISHED], "Remove One"),
    ("/org/crew/settings/teams", "/orgs/crew/teams", [TEAM], "Delete builders"),
    ("/org/crew/settings/members", "/orgs/crew/members", [ANN_USER], "Remove ann"),
    ("/user/settings/applications", "/users/ann/tokens", [TOKEN], "Delete ci"),
    ("/user/settings/keys", "/user/keys", [KEY], "Remove laptop"),
    ("/user/settings/gpg_keys", "/user/gpg_keys", [GPG_KEY | {"id": 5}], "Remove "),
]


@pytest.mark.parametrize(("page", "path", "answer", "button"), CONFIRMED)
async def test_what_cannot_be_taken_back_is_said_before_it_is_done(pages, forge, page, path, answer, button):
    forge.answers |= ANSWERS | {path: answer}
    shown = (await pages.get(page, ANN)).text
    (confirmation,) = [
        menu
        for menu in re.findall(r'<details class="menu confirm.*?</details>', shown, re.DOTALL)
        if f'aria-label="{button}' in menu
    ]
    assert re.search(
        rf"<form method=\"post\".*<p>[A-Z].+\.</p><button[^>]*>{re.escape(button)}", confirmation
    )
    assert f">{button}" not in shown.replace(confirmation, "")


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("/user/settings", "/user/settings"),
        ("/ann/demo/settings", HOME),
        ("/org/crew/settings", "/orgs/crew"),
        ("/ann/demo/settings/mirrors", HOME),
    ],
)
async def test_what_was_saved_is_said_once(pages, forge, page, path):
    mirror = {
        "mirror": True,
        "mirror_interval": "8h0m0s",
        "mirror_updated": MOMENT,
        "original_url": "http://x/",
    }
    forge.answers |= ANSWERS
    forge.answers[HOME] = forge.answers[HOME] | mirror
    forge.changed = {"full_name": "ann/demo"}
    done = await pages.submit(page, "Save", to=page)
    assert (done.status_code, forge.sent[-1][:2]) == (303, ("PATCH", path))
    address = done.headers["location"]
    assert address.startswith(f"{page}?outcome=saved&proof=")
    crafted = f"{page}?saved=1", f"{page}?outcome=saved", f"{page}?outcome=saved&proof=1.0.0"
    for link in (*crafted, page):
        assert ">Saved.<" not in (await pages.get(link, ANN)).text
    assert ">Saved.<" not in (await pages.get(address, BOB)).text
    assert [">Saved.<" in (await pages.get(address, ANN)).text for _ in range(2)] == [True, False]
    forge.refuses = 422
    refused = await pages.submit(page, "Save", to=page)
    assert (refused.status_code, ">Saved.<" in refused.text) == (422, False)
