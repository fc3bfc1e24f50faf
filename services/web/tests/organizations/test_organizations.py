"""An organization and its teams, as pages show and change them to owners and members."""

import time

import pytest

from ..forge import HOME
from ..test_forms import ANSWERS
from ..webhooks.test_owners import HOOK
from ..world import ANN, ROOT

TEAMS = "/org/crew/settings/teams"
PERMISSIONS = "/users/ann/orgs/crew/permissions"
MEMBER = {"is_owner": False, "is_admin": False}


async def test_an_owner_says_which_repositories_a_team_has_and_whether_it_makes_some(pages, forge):
    forge.answers |= ANSWERS
    team = {"name": "crew", "description": "", "permission": "read"}
    new = {"name": "crew", "includes_all_repositories": "1"}
    creation = await pages.submit(TEAMS, "Create team", to="/teams", **new)
    edit = await pages.submit(f"{TEAMS}/1/edit", "Save team", to="/edit", includes_all_repositories="1")
    assert [answer.headers["location"] for answer in (creation, edit)] == [TEAMS, f"{TEAMS}/1"]
    assert forge.sent == [
        (
            "POST",
            "/orgs/crew/teams",
            team | {"includes_all_repositories": True, "can_create_org_repo": False},
        ),
        ("PATCH", "/teams/1", team | {"includes_all_repositories": True, "can_create_org_repo": True}),
    ]
    owners = {"permission": "owner", "includes_all_repositories": True}
    forge.answers["/teams/1"] = ANSWERS["/teams/1"] | owners
    await pages.submit(f"{TEAMS}/1/edit", "Save team", to="/edit", description="all")
    assert forge.sent[-1] == ("PATCH", "/teams/1", {"description": "all"})


async def test_what_a_form_does_not_name_is_not_said_to_be_saved(pages, forge):
    forge.answers |= ANSWERS
    form = {"token": pages.form_token(ANN, at=time.time()), "do": "unknown"}
    refused = await pages.post("/org/crew/settings", form, ANN)
    assert (refused.status_code, forge.sent) == (422, [])


async def test_what_was_wrong_with_a_team_is_said_beside_what_was_written(pages, forge):
    forge.answers |= ANSWERS
    forge.refuses = 422
    for page, button in ((TEAMS, "Create team"), (f"{TEAMS}/1/edit", "Save team")):
        refused = await pages.submit(page, button, name="taken", can_create_org_repo="1")
        assert refused.status_code == 422
        assert 'value="taken"' in refused.text
        assert 'name="can_create_org_repo" value="1" checked' in refused.text


async def test_a_member_sees_teams_and_no_form_that_changes_them(pages, forge):
    forge.answers |= ANSWERS | {PERMISSIONS: MEMBER, "/orgs/crew/teams": [ANSWERS["/teams/1"]]}
    for page in (TEAMS, f"{TEAMS}/1"):
        shown = await pages.get(page, ANN)
        assert (shown.status_code, "crew" in shown.text) == (200, True)
        for control in ("Create team", "Delete crew", "Add member", "Add repository", "/edit"):
            assert control not in shown.text
    assert (await pages.get(f"{TEAMS}/1/edit", ANN)).status_code == 403


async def test_who_administers_repositories_gives_them_to_a_team_that_has_not_all(pages, forge):
    forge.answers |= ANSWERS | {PERMISSIONS: MEMBER | {"is_admin": True}}
    page = f"{TEAMS}/1"
    await pages.submit(page, "Add repository", to=page, repository="other")
    assert forge.sent == [("PUT", "/teams/1/repos/crew/other", {})]
    shown = (await pages.get(page, ANN)).text
    assert ("Add repository" in shown, "Add member" in shown) == (True, False)
    forge.answers["/teams/1"] = ANSWERS["/teams/1"] | {"includes_all_repositories": True}
    assert "Add repository" not in (await pages.get(page, ANN)).text


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("", "Who is signed in"),
        ("/members", "Ann"),
        ("/labels", "sea"),
        ("/hooks/1", "Owners of the organization see its deliveries"),
    ],
)
async def test_a_member_sees_settings_without_the_forms_of_owners(pages, forge, page, words):
    forge.answers |= ANSWERS | {
        "/orgs/crew/members": [ANSWERS["/user"]],
        "/orgs/crew/labels": [{"id": 1, "name": "sea", "color": "2a6fdb", "description": ""}],
        "/orgs/crew/hooks/1": HOOK,
        "/orgs/crew": ANSWERS["/orgs/crew"] | {"visibility": "limited"},
    }
    owners = (await pages.get(f"/org/crew/settings{page}", ANN)).text
    assert '<form method="post"' in owners or '<form class="actions" method="post"' in owners
    forge.answers[PERMISSIONS] = MEMBER
    forge.failures["/orgs/crew/hooks/1/deliveries"] = 403
    member = await pages.get(f"/org/crew/settings{page}", ANN)
    assert (member.status_code, words in member.text) == (200, True)
    assert 'method="post"' not in member.text.partition("<main")[2]
    assert 'method="post"' in (await pages.get("/org/crew/settings", ROOT)).text.partition("<main")[2]


@pytest.mark.parametrize("page", ["", "/members", "/labels", "/teams/1", "/hooks"])
async def test_whom_the_api_refuses_the_teams_sees_no_settings(pages, forge, page):
    forge.answers |= ANSWERS
    forge.failures["/orgs/crew/teams"] = 403
    assert (await pages.get(f"/org/crew/settings{page}", ANN)).status_code == 403


@pytest.mark.parametrize("path", ["hooks/1/edit", "teams/1/edit"])
async def test_the_form_of_what_owners_change_is_for_owners(pages, forge, path):
    forge.answers |= ANSWERS | {PERMISSIONS: MEMBER}
    assert (await pages.get(f"/org/crew/settings/{path}", ANN)).status_code == 403


async def test_the_page_of_an_organization_leads_to_what_the_reader_may_do_there(pages, forge):
    account = ANSWERS["/user/settings"] | ANSWERS["/user"] | {"login": "crew", "created": ""}
    forge.answers |= ANSWERS | {"/users/crew": account}
    links = {"can_read": "/org/crew/settings", "can_create_repository": "/repo/create?org=crew"}
    for rights in ({}, {"can_read": True}, {"can_read": True, "can_create_repository": True}):
        forge.answers[PERMISSIONS] = dict.fromkeys(links, False) | rights
        shown = (await pages.get("/crew", ANN)).text
        assert {right for right, link in links.items() if f'href="{link}"' in shown} == set(rights)
    anonymous = await pages.get("/crew")
    assert (anonymous.status_code, "/settings" in anonymous.text) == (200, False)


@pytest.mark.parametrize(("page", "path"), [
    ("/crew?tab=teams", "/orgs/crew/teams"), ("/ann/demo/settings/teams", f"{HOME}/teams"),
])  # fmt: skip
async def test_a_team_in_a_list_leads_to_its_members(pages, forge, page, path):
    account = ANSWERS["/user/settings"] | ANSWERS["/user"] | {"login": "crew", "created": ""}
    forge.answers |= ANSWERS | {"/users/crew": account, path: [ANSWERS["/teams/1"] | {"id": 7}]}
    forge.answers[HOME]["owner"] = account
    assert 'href="/org/crew/settings/teams/7">crew</a>' in (await pages.get(page, ANN)).text
