"""Actions of batches over HTTP: their headers alone send each object, at the first try."""

from datetime import datetime, timedelta

import pytest

from ingot_chassis.clock import now
from ingot_repos.lfs.rules.tokens import LIFETIME

from ..lfs_client import FILE, ROOT, objects_of, path, upload


@pytest.fixture
async def app(ann):
    return await ann.create("app", private=True)


async def send(world, action, method, content=None, **more):
    """Send an action as git-lfs does: with its headers and no other credential."""
    target = action["href"].removeprefix(ROOT)
    return await world.http.request(method, target, headers=action["header"], content=content, **more)


async def test_an_object_is_sent_and_fetched_with_the_headers_of_its_actions(world, ann, app):
    [offered] = await objects_of(ann, "upload", FILE)
    assert offered["authenticated"] is True
    actions = offered["actions"]
    for action in actions.values():
        assert action["header"]["Authorization"] == f"Lfs {action['header']['Lfs-Token']}"
        left = datetime.fromisoformat(action["expires_at"]) - now()
        assert timedelta(minutes=1) < left <= LIFETIME
    assert (await send(world, actions["upload"], "PUT", FILE)).status_code == 200
    body = {"oid": offered["oid"], "size": offered["size"]}
    assert (await send(world, actions["verify"], "POST", json=body)).status_code == 200
    [requested] = await objects_of(ann, "download", FILE)
    assert (
        requested["authenticated"],
        (await send(world, requested["actions"]["download"], "GET")).content,
    ) == (
        True,
        FILE,
    )


async def test_an_action_for_a_download_uploads_nothing(world, ann, app):
    await upload(ann)
    [requested] = await objects_of(ann, "download", FILE)
    action = requested["actions"]["download"]
    answer = await send(world, action | {"href": f"{action['href']}/{len(FILE)}"}, "PUT", FILE)
    assert answer.status_code == 403


async def test_an_action_opens_no_other_repository(world, ann, app):
    await ann.create("other", private=True)
    [offered] = await objects_of(ann, "upload", FILE)
    action = offered["actions"]["upload"]
    other = action["href"].replace(path(), path("ann/other"))
    assert (await send(world, action | {"href": other}, "PUT", FILE)).status_code == 404


async def test_an_action_gets_what_its_credential_gets_now(world, ann, bob, app):
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    [offered] = await objects_of(bob, "upload", FILE)
    action = offered["actions"]["upload"]
    assert (await send(world, action, "PUT", FILE)).status_code == 200
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "read"})
    assert (await send(world, action, "PUT", FILE)).status_code == 403
    world.identity.principals.clear()
    assert (await send(world, action, "PUT", FILE)).status_code == 401


async def test_a_caller_without_a_credential_of_its_own_gets_no_headers(world, ann, app):
    await ann.create("open")
    await upload(ann, repo="ann/open")
    nobody = ann.but(id=0, name="", via="", credential="")
    for caller in (nobody, ann.but(credential="", via="session")):
        [requested] = await objects_of(caller, "download", FILE, repo="ann/open")
        assert "authenticated" not in requested
        assert set(requested["actions"]["download"]) == {"href"}
