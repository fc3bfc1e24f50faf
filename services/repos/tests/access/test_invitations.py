"""Invitations to repositories: who may send them, and whether the inviter still may when one is accepted."""

from datetime import UTC, datetime

import pytest

from ingot_contracts.identity.invitations import LinkedInvitation

R = "/repos/ann/app"
CODE = {"code": "secret"}


@pytest.fixture
async def app(world, ann, bob):
    """ann/app with bob as administrator, and cat, who has no access."""
    world.user(3, "cat")
    created = await ann.create("app", private=True)
    await ann.call("PUT", f"/api/v1{R}/collaborators/bob", {"permission": "admin"})
    return created


@pytest.fixture
def invited_by(world, app):
    """Put an invitation of that person behind the link."""

    def invite(inviter_id, inviter, permission="write", **changes):
        values = {
            "kind": "repository",
            "target": "the repository ann/app",
            "path": "/ann/app",
            "repository_id": app["id"],
            "permission": permission,
            "expires_at": datetime(2030, 1, 1, tzinfo=UTC),
        }
        linked = LinkedInvitation(inviter_id=inviter_id, inviter=inviter, **values | changes)
        world.identity.invitations["secret"] = linked

    return invite


async def accept(world, who):
    return await who.call("POST", "/internal/invitations", CODE, peer="web")


async def permission(ann, login):
    return (await ann.get(f"{R}/collaborators/{login}/permission")).json()["permission"]


async def test_an_invitation_is_sent_listed_and_withdrawn(world, ann, bob, app):
    sent = await bob.call("POST", f"/api/v1{R}/collaborators", {"email": "new@work.example"})
    assert (sent.status_code, sent.json()["permission"], sent.json()["inviter"]["login"]) == (
        201,
        "write",
        "bob",
    )
    strange = {"email": "x@work.example", "permission": "all"}
    assert (await ann.call("POST", f"/api/v1{R}/collaborators", strange)).json()["permission"] == "read"
    listed = await ann.get(f"{R}/invitations")
    assert [one["email"] for one in listed.json()] == ["new@work.example", "x@work.example"]
    assert listed.headers["x-total-count"] == "2"
    path = f"/api/v1{R}/invitations/{sent.json()['id']}"
    assert [(await ann.call("DELETE", path)).status_code for _ in range(2)] == [204, 404]


async def test_the_invited_person_becomes_a_collaborator_once(world, ann, app, invited_by):
    invited_by(2, "bob", "read")
    cat = world.user(3, "cat")
    assert (await accept(world, cat)).json()["path"] == "/ann/app"
    assert await permission(ann, "cat") == "read"
    await ann.call("DELETE", f"/api/v1{R}/collaborators/cat")
    assert (await accept(world, cat)).status_code == 404
    assert await permission(ann, "cat") == "none"


@pytest.mark.parametrize("lost", ["level", "access", "account"])
async def test_an_inviter_who_lost_the_right_makes_no_collaborator(world, ann, app, invited_by, lost):
    invited_by(2, "bob")
    if lost == "level":
        await ann.call("PUT", f"/api/v1{R}/collaborators/bob", {"permission": "write"})
    elif lost == "access":
        await ann.call("DELETE", f"/api/v1{R}/collaborators/bob")
    else:
        world.identity.add_account(2, "bob", active=False)
    answer = await accept(world, world.user(3, "cat"))
    assert (answer.status_code, "ask for a new invitation" in answer.json()["message"]) == (403, True)
    assert await permission(ann, "cat") == "none"
    assert "secret" in world.identity.invitations


async def test_a_collaborator_keeps_the_permission(world, ann, bob, app, invited_by):
    invited_by(1, "ann", "read")
    assert (await accept(world, bob)).status_code == 200
    assert await permission(ann, "bob") == "admin"


async def test_a_link_to_a_team_gives_no_repository(world, app, invited_by):
    invited_by(1, "ann", kind="team")
    assert (await accept(world, world.user(3, "cat"))).status_code == 404


async def test_the_owner_and_anonymous_callers_are_refused(world, ann, app, invited_by):
    invited_by(2, "bob")
    assert (await accept(world, ann)).status_code == 403
    assert (await accept(world, world.user(0, ""))).status_code == 401
    assert "secret" in world.identity.invitations
