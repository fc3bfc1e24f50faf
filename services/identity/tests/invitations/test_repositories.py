"""Invitations to repositories, as repos asks for them."""

import pytest

from ingot_chassis.security.principal import ANONYMOUS
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import RepositoryDeleted

from ..world import REPOS, repository
from .visitors import Visitor, invitation_of, invite_to_repository

NEW = "new@work.example"
PATH = "/internal/repositories/1/invitations"


@pytest.fixture
async def ann(world, acme):
    """The id of ann, who owns the repository app."""
    ann = (await world.call("GET", "/users/ann", as_="root")).json()["id"]
    assert (await world.put_ownership(ann)).status_code == 204
    return ann


async def accept(world, code):
    return await world.post_as_peer("/internal/repository-invitations", {"code": code})


async def test_a_person_is_invited_and_the_link_ends_by_its_use(world, mailbox, ann):
    answer = await invite_to_repository(world, by=ann, permission="read")
    assert (answer.status_code, answer.json()["permission"]) == (200, "read")
    code = await mailbox.code(NEW)
    shown = (await invitation_of(world, code, peer="repos")).json()
    assert (shown["kind"], shown["target"], shown["path"]) == (
        "repository",
        "the repository ann/app",
        "/ann/app",
    )
    assert (shown["repository_id"], shown["inviter_id"], shown["may_register"]) == (1, ann, True)
    assert (await Visitor(world, "nora").register(code, "nora")).status_code == 303
    assert (await accept(world, code)).json()["permission"] == "read"
    assert (await accept(world, code)).status_code == 404


async def test_they_are_listed_and_withdrawn(world, mailbox, ann):
    one = (await invite_to_repository(world, by=ann)).json()
    assert (await world.get_as_peer(PATH)).json() == {"rows": [one], "total": 1}
    headers = REPOS.headers(ANONYMOUS, peer="repos")
    other = f"/internal/repositories/2/invitations/{one['id']}"
    assert (await world.http.delete(other, headers=headers)).status_code == 404
    assert (await world.http.delete(f"{PATH}/{one['id']}", headers=headers)).status_code == 204
    assert (await world.get_as_peer(PATH)).json() == {"rows": [], "total": 0}
    assert await mailbox.all() == []


async def test_an_inviter_without_access_makes_no_accounts(world, mailbox, ann):
    await world.call("GET", "/users/sam", as_="root")
    sam = (await world.call("GET", "/users/sam", as_="root")).json()["id"]
    await invite_to_repository(world, by=sam)
    code = await mailbox.code(NEW)
    assert (await Visitor(world, "nora").register(code, "nora")).status_code == 403
    assert (await accept(world, code)).status_code == 403


async def test_they_go_with_the_repository(world, mailbox, ann):
    await invite_to_repository(world, by=ann)
    code = await mailbox.code(NEW)
    await world.deliver(RepositoryDeleted(repository=repository(ann), sender=User(id=ann, login="ann")))
    assert (await invitation_of(world, code)).status_code == 404
    assert await mailbox.all() == []


async def test_only_repos_keeps_them(world, ann):
    for peer in ("mail", "web"):
        headers = REPOS.headers(ANONYMOUS, peer=peer)
        assert (await world.http.get(PATH, headers=headers)).status_code == 404
