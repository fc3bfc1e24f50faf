"""Revocation: all that a right allowed is refused within 5 seconds of its end, with NATS and without."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple

import httpx
import pytest

from ingot_testing.receiver import Receiver

from .deployments import ADMINISTRATOR
from .parts import PATIENCE
from .rights import RIGHTS, People, Use, collaborator, login, status_of
from .rights_of_accounts import HOLDERS, RIGHTS_OF_ACCOUNTS
from .rights_of_keys import RIGHTS_OF_KEYS

REVOKED_WITHIN = 5.0
ALL_RIGHTS = [*RIGHTS, *RIGHTS_OF_KEYS, *RIGHTS_OF_ACCOUNTS]


@pytest.fixture
async def people(deployment):
    async with AsyncExitStack() as stack:
        people = People(deployment, stack)
        yield people._replace(administrator=await people.connect(auth=ADMINISTRATOR))


async def require_open(client, urls):
    assert {url: await status_of(client, url) for url in urls} == dict.fromkeys(urls, 200)


async def is_open(client, url):
    return await status_of(client, url) not in (303, 401, 403, 404)


def uses_of(right):
    urls = [(client, url) for client, urls in right.opened for url in urls]
    return [*(Use(url, partial(is_open, client, url)) for client, url in urls), *right.uses]


async def require_shut(uses):
    """Require that each use which begins more than 5 seconds after this call is refused."""
    since = time.monotonic()

    async def last_opened(use):
        last = since
        while (began := time.monotonic()) < since + PATIENCE:
            if not await use.is_allowed():
                return last - since
            last = began
            await asyncio.sleep(0.1)
        raise AssertionError(f"{use.name} stays open")

    seconds = await asyncio.gather(*map(last_opened, uses))
    late = {use.name: late for use, late in zip(uses, seconds, strict=True) if late > REVOKED_WITHIN}
    assert not late


async def shut(rights):
    """Revoke all rights at once, and wait until nothing is open."""
    await asyncio.gather(
        *(require_open(*each) for right in rights for each in (*right.opened, *right.others))
    )
    uses = [use for right in rights for use in right.uses]
    are_allowed = await asyncio.gather(*(use.is_allowed() for use in uses))
    assert [use.name for use, answer in zip(uses, are_allowed, strict=True) if not answer] == []
    answers = await asyncio.gather(*(right.revoke() for right in rights))
    assert all(answer.is_success for answer in answers), [answer.text for answer in answers]
    await require_shut([use for right in rights for use in uses_of(right)])
    await asyncio.gather(*(require_open(*each) for right in rights for each in right.others))


@pytest.mark.parametrize("right", ALL_RIGHTS)
async def test_what_is_revoked_opens_nothing(people, right):
    await shut([await right(people)])


async def test_what_is_revoked_opens_nothing_without_nats(deployment, people):
    rights = await asyncio.gather(*(right(people) for right in ALL_RIGHTS))
    await asyncio.to_thread(deployment.stop_nats)
    try:
        await shut(rights)
    finally:
        await asyncio.to_thread(deployment.start_nats)


class Hooks(NamedTuple):
    """Two hooks of one repository, by its owner and by another administrator. Each has its own receiver."""

    owner: Receiver
    other: Receiver
    open_issue: Callable[[str], Awaitable[None]]
    """With that title."""
    revoke: Callable[[], Awaitable[httpx.Response]]
    """Ends the right of the other."""

    async def require_delivery(self, title):
        """To the owner."""
        await self.open_issue(title)
        await arrival(self.owner, title)


async def two_hooks(people, holder):
    full_name, ann, bob, revoke = await holder(people)
    receivers = []
    for person in (ann, bob):
        receivers.append(await people.stack.enter_async_context(Receiver()))
        config = {"url": receivers[-1].url, "content_type": "json"}
        new = {"type": "gitea", "config": config, "events": ["issues"], "active": True}
        answer = await person.post(f"api/v1/repos/{full_name}/hooks", json=new)
        assert answer.status_code == 201, answer.text

    async def open_issue(title):
        answer = await ann.post(f"api/v1/repos/{full_name}/issues", json={"title": title})
        assert answer.status_code == 201, answer.text

    return Hooks(*receivers, open_issue, revoke)


async def revoke_all(all_hooks):
    answers = await asyncio.gather(*(hooks.revoke() for hooks in all_hooks))
    assert all(answer.is_success for answer in answers), [answer.text for answer in answers]


async def arrival(receiver, title):
    end = time.monotonic() + PATIENCE
    while not any(title.encode() in request.body for request in receiver.requests):
        assert time.monotonic() < end, f"{title} does not arrive"
        await asyncio.sleep(0.02)


async def test_a_hook_of_somebody_who_lost_the_right_sends_nothing(people):
    all_hooks = await asyncio.gather(*(two_hooks(people, holder) for holder in HOLDERS))
    for hooks in all_hooks:
        await hooks.require_delivery("first")
        await arrival(hooks.other, "first")
    await revoke_all(all_hooks)
    await asyncio.sleep(REVOKED_WITHIN)  # what was sent until then was in time
    counts = [len(hooks.other.requests) for hooks in all_hooks]
    for title in ("second", "third"):
        for hooks in all_hooks:
            await hooks.require_delivery(title)
    assert [len(hooks.other.requests) for hooks in all_hooks] == counts


async def test_a_hook_whose_right_was_lost_without_nats_sends_nothing_of_that_time(deployment, people):
    all_hooks = await asyncio.gather(*(two_hooks(people, holder) for holder in HOLDERS))
    await asyncio.to_thread(deployment.stop_nats)
    try:
        await revoke_all(all_hooks)
        for hooks in all_hooks:
            await hooks.open_issue("meanwhile")
    finally:
        await asyncio.to_thread(deployment.start_nats)
    for hooks in all_hooks:
        await arrival(hooks.owner, "meanwhile")
        await hooks.require_delivery("afterwards")
    assert [hooks.other.requests for hooks in all_hooks] == [[] for _ in HOLDERS]


async def token_of(person):
    """Their name, and a token for what mirrors need."""
    name = await login(person)
    body = {"name": "mirror", "scopes": ["write:repository"]}
    return name, (await person.post(f"api/v1/users/{name}/tokens", json=body)).json()["sha1"]


async def write_file(person, full_name, name):
    body = {"content": "YQ==", "message": f"Add {name}", "branch": "main"}
    answer = await person.post(f"api/v1/repos/{full_name}/contents/{name}", json=body)
    assert answer.status_code == 201, answer.text


async def until(is_so, what):
    end = time.monotonic() + PATIENCE
    while not await is_so():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def nats_that_is(state, deployment):
    if state == "down":
        await asyncio.to_thread(deployment.stop_nats)
    try:
        yield
    finally:
        if state == "down":
            await asyncio.to_thread(deployment.start_nats)


@pytest.mark.parametrize("nats", ["up", "down"])
async def test_a_push_mirror_of_somebody_who_lost_the_right_pushes_nothing(deployment, people, nats):
    full_name, ann, bob, revoke = await collaborator(people, "admin")
    name, token = await token_of(bob)
    copy = f"{name}/copy"
    answer = await bob.post("api/v1/user/repos", json={"name": "copy", "private": True})
    assert answer.status_code == 201, answer.text
    mirror = {
        "remote_address": f"{deployment.url}{copy}.git",
        "remote_username": name,
        "remote_password": token,
    }
    answer = await bob.post(f"api/v1/repos/{full_name}/push_mirrors", json=mirror | {"sync_on_commit": True})
    assert answer.status_code == 200, answer.text

    async def has(file):
        return await status_of(bob, f"api/v1/repos/{copy}/contents/{file}?ref=main") == 200

    async def is_refused():
        (shown,) = (await ann.get(f"api/v1/repos/{full_name}/push_mirrors")).json()
        return shown["last_error"] == "who added it may no longer administer the repository"

    await write_file(ann, full_name, "first")
    await until(partial(has, "first"), "nothing is pushed")
    async with nats_that_is(nats, deployment):
        assert (await revoke()).is_success
        await asyncio.sleep(REVOKED_WITHIN)  # what was pushed until then was in time
        await write_file(ann, full_name, "second")
        await ann.post(f"api/v1/repos/{full_name}/push_mirrors-sync")
        await until(is_refused, "the push mirror goes on")
    assert not await has("second")


@pytest.mark.parametrize("nats", ["up", "down"])
async def test_a_pull_mirror_of_somebody_who_lost_the_right_gets_nothing(deployment, people, nats):
    full_name, ann, bob, revoke = await collaborator(people, "read")
    name, token = await token_of(bob)
    copy = f"{name}/copy"
    mirror = {"clone_addr": f"{deployment.url}{full_name}.git", "auth_token": token, "repo_name": "copy"}
    answer = await bob.post("api/v1/repos/migrate", json=mirror | {"mirror": True, "private": True})
    assert answer.status_code == 201, answer.text

    async def has(file):
        await bob.post(f"api/v1/repos/{copy}/mirror-sync")
        return await status_of(bob, f"api/v1/repos/{copy}/contents/{file}?ref=main") == 200

    async def is_refused():
        await bob.post(f"api/v1/repos/{copy}/mirror-sync")
        return (await bob.get(f"api/v1/repos/{copy}/migration")).json()["error"] != ""

    await write_file(ann, full_name, "first")
    await until(partial(has, "first"), "nothing is fetched")
    async with nats_that_is(nats, deployment):
        assert (await revoke()).is_success
        await asyncio.sleep(REVOKED_WITHIN)  # what was fetched until then was in time
        await write_file(ann, full_name, "second")
        await until(is_refused, "the mirror goes on")
    assert not await has("second")
