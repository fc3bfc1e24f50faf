"""Preferences of the caller, for everywhere and for a repository; links to unsubscribe."""

import pytest

from ingot_contracts.repos.access import AccessLevel
from ingot_mail.preferences.rules import Subscription

PATH = "/user/mail-preferences"
OF_APP, OF_OTHER = f"{PATH}/ann/app", f"{PATH}/ann/other"
DEFAULT = {"mentions": "instant", "participating": "instant", "watching": "instant", "own": False}
BOB = {"user": 2, "scopes": ["all"]}


async def test_the_choices_of_a_new_person(world):
    assert (await world.call("GET", PATH, **BOB)).json() == {**DEFAULT, "inherited": False}


async def test_choices_are_changed_one_by_one(world):
    await world.call("PATCH", PATH, {"watching": "off"}, **BOB)
    changed = await world.call("PATCH", PATH, {"own": True}, **BOB)
    assert changed.json() == {**DEFAULT, "watching": "off", "own": True, "inherited": False}


async def test_a_repository_has_choices_of_its_own_until_they_are_deleted(world):
    await world.call("PATCH", PATH, {"watching": "daily"}, **BOB)
    assert (await world.call("GET", OF_APP, **BOB)).json()["inherited"] is True
    changed = (await world.call("PATCH", OF_APP, {"mentions": "off"}, **BOB)).json()
    assert (changed["mentions"], changed["watching"], changed["inherited"]) == ("off", "daily", False)
    assert (await world.call("DELETE", OF_APP, **BOB)).status_code == 204
    assert (await world.call("GET", OF_APP, **BOB)).json()["inherited"] is True


@pytest.mark.parametrize("body", [{"mentions": "weekly"}, {"watching": 7}, {"own": "maybe"}])
async def test_a_choice_that_does_not_exist_is_refused_by_its_field(world, body):
    refused = await world.call("PATCH", PATH, body, **BOB)
    assert refused.status_code == 422
    assert next(iter(body)) in refused.text


async def test_nobody_learns_of_a_private_repository(world):
    for method in ("GET", "PATCH", "DELETE"):
        body = {} if method == "PATCH" else None
        hidden = await world.call(method, OF_OTHER, body, **BOB)
        missing = await world.call(method, f"{PATH}/ann/missing", body, **BOB)
        assert (hidden.status_code, hidden.json()) == (404, missing.json())


async def test_a_person_with_access_has_choices_for_a_private_repository(world):
    world.repos.levels[8, 2] = AccessLevel(level="read")
    assert (await world.call("GET", OF_OTHER, **BOB)).status_code == 200


@pytest.mark.parametrize(
    ("choice", "reason", "count"),
    [
        ({"mentions": "off"}, "mentioned", 0),
        ({"mentions": "off"}, "requested", 0),
        ({"mentions": "off"}, "participating", 1),
        ({"participating": "off"}, "participating", 0),
        ({"watching": "off"}, "watching", 0),
        ({}, "own", 0),
        ({"own": True}, "own", 1),
    ],
)
async def test_a_notice_is_sent_if_its_reason_is_chosen(world, mailbox, choice, reason, count):
    world.add_issue()
    await world.call("PATCH", PATH, choice, **BOB)
    await world.notify((2, reason))
    await world.worker.step()
    assert len(mailbox.taken) == count


async def test_a_choice_counts_for_mails_that_wait(world, mailbox):
    world.add_issue()
    await world.notify((2, "watching"))
    await world.call("PATCH", PATH, {"watching": "off"}, **BOB)
    await world.worker.step()
    assert mailbox.taken == []


async def test_one_click_unsubscribes_from_a_repository(world, mailbox):
    world.add_issue()
    await world.notify((2, "mentioned"))
    await world.worker.step()
    (message,) = mailbox.messages
    path = str(message["List-Unsubscribe"]).strip("<>").removeprefix("http://forge.test")
    assert (await world.client.get(path)).status_code == 200
    assert (await world.call("GET", OF_APP, **BOB)).json()["mentions"] == "instant"
    answer = await world.client.post(path, data={"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    assert (await world.call("GET", OF_APP, **BOB)).json()["mentions"] == "off"
    await world.notify((2, "mentioned"))
    assert await world.worker.step() == 0


async def test_a_changed_link_is_not_found(world):
    url = world.links.url(Subscription(2, 7)).removeprefix("http://forge.test")
    assert (await world.client.get(url)).status_code == 200
    for changed in (
        url[:-1] + ("A" if url[-1] != "A" else "B"),
        url[:-4],
        url.replace("/unsubscribe/", "/unsubscribe/A"),
    ):
        for method in ("GET", "POST"):
            assert (await world.client.request(method, changed)).status_code == 404
