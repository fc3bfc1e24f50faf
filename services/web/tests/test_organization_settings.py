"""Teams of an organization as pages show and change them."""

from .test_forms import ANSWERS
from .world import ANN

TEAMS = "/org/crew/settings/teams"
PERMISSIONS = "/users/ann/orgs/crew/permissions"


async def test_an_owner_says_which_repositories_a_team_has_and_whether_it_makes_some(pages, forge):
    forge.answers |= ANSWERS | {PERMISSIONS: {"is_owner": True}}
    team = {"name": "crew", "description": "", "permission": "read"}
    new = {"name": "crew", "includes_all_repositories": "1"}
    creation = await pages.submit(TEAMS, "Make the team", to="/teams", **new)
    edit = await pages.submit(f"{TEAMS}/1/edit", "Save the team", to="/edit", includes_all_repositories="1")
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
    await pages.submit(f"{TEAMS}/1/edit", "Save the team", to="/edit", description="all")
    assert forge.sent[-1] == ("PATCH", "/teams/1", {"description": "all"})


async def test_what_was_wrong_with_a_team_is_said_beside_what_was_written(pages, forge):
    forge.answers |= ANSWERS | {PERMISSIONS: {"is_owner": True}}
    forge.refuses = 422
    for page, button in ((TEAMS, "Make the team"), (f"{TEAMS}/1/edit", "Save the team")):
        refused = await pages.submit(page, button, name="taken", can_create_org_repo="1")
        assert refused.status_code == 422
        assert 'value="taken"' in refused.text
        assert 'name="can_create_org_repo" value="1" checked' in refused.text


async def test_a_member_sees_teams_and_no_form_that_changes_them(pages, forge):
    forge.answers |= ANSWERS | {PERMISSIONS: {"is_owner": False}, "/orgs/crew/teams": [ANSWERS["/teams/1"]]}
    for page in (TEAMS, f"{TEAMS}/1"):
        shown = await pages.get(page, ANN)
        assert (shown.status_code, "crew" in shown.text) == (200, True)
        for control in ("Make the team", "Delete crew", "Take them in", "/edit"):
            assert control not in shown.text
    assert (await pages.get(f"{TEAMS}/1/edit", ANN)).status_code == 403
