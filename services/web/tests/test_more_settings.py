"""A repository that is offered to a new owner, mirrors, and teams, as pages show them."""

import pytest

from .forge import ANN_USER, HOME
from .world import ANN, BOB

BOB_USER = ANN_USER | {"id": 2, "login": "bob"}
OFFER = {"doer": ANN_USER, "recipient": BOB_USER, "teams": []}
ANSWERED = {f"POST {HOME}/transfer/{act}": {"full_name": "bob/demo"} for act in ("accept", "reject")}


@pytest.mark.parametrize("status", [403, 404])
async def test_nothing_is_offered_where_the_service_says_so(pages, forge, status):
    forge.failures[f"{HOME}/transfer"] = status
    refused = await pages.get("/ann/demo/transfer", BOB)
    assert (refused.status_code, "Take it over" in refused.text) == (404, False)
    assert (await pages.get("/ann/demo/transfer")).status_code == 401


async def test_a_private_repository_is_taken_over_or_refused_by_whom_it_is_offered_to(pages, forge):
    forge.failures[HOME] = 404
    forge.answers |= {f"{HOME}/transfer": OFFER} | ANSWERED
    for button, act, to in (("Take it over", "accept", "/bob/demo"), ("Refuse", "reject", "/")):
        answer = await pages.submit("/ann/demo/transfer", button, to="/transfer", caller=BOB)
        assert answer.headers["location"] == to
        assert forge.sent[-1][:2] == ("POST", f"{HOME}/transfer/{act}")


@pytest.mark.parametrize("is_empty", [True, False])
async def test_the_repository_says_that_it_is_offered_and_leads_each_side_on(pages, forge, is_empty):
    forge.answers |= {f"{HOME}/contents-ext": {"dir_contents": []}, f"{HOME}/languages": {}}
    forge.answers[HOME] |= {"repo_transfer": OFFER, "empty": is_empty}
    shown = (await pages.get("/ann/demo", ANN)).text
    assert ('href="/ann/demo/settings/transfer"' in shown, 'href="/ann/demo/transfer"' in shown) == (
        True,
        False,
    )
    forge.answers[HOME]["permissions"] = {"admin": False, "push": False, "pull": True}
    shown = (await pages.get("/ann/demo", BOB)).text
    settings = (await pages.get("/ann/demo/settings/transfer", ANN)).text
    assert "the answer is given at <code>http://forge/ann/demo/transfer</code>" in settings
    assert ("offers this repository to you" in shown, 'href="/ann/demo/transfer"' in shown) == (True, True)
    forge.answers[HOME]["repo_transfer"] = None
    assert "/transfer" not in (await pages.get("/ann/demo", BOB)).text


async def test_who_offered_a_repository_takes_that_back(pages, forge):
    page = "/ann/demo/settings/transfer"
    shown = (await pages.get(page, ANN)).text
    assert ("Take the offer back" in shown, "You keep no access unless" in shown) == (False, True)
    forge.answers[HOME]["repo_transfer"] = OFFER
    forge.answers |= ANSWERED
    assert "Hand it over" not in (await pages.get(page, ANN)).text
    answer = await pages.submit(page, "Take the offer back", to="/settings/transfer")
    assert (answer.headers["location"], forge.sent) == (page, [("POST", f"{HOME}/transfer/reject", {})])


MIRRORS = "/ann/demo/settings/mirrors"
PUSH_MIRROR = {
    "remote_address": "https://a/b.git", "remote_name": "m1", "last_update": None, "sync_on_commit": True, "last_error": "",
}  # fmt: skip


async def test_how_often_a_mirror_is_fetched_is_changed_and_its_credentials_where_there_are_new_ones(
    pages, forge
):
    assert "Fetched every" not in (await pages.get(MIRRORS, ANN)).text
    forge.answers[HOME] |= {
        "mirror": True,
        "original_url": "https://a/b.git",
        "mirror_interval": "8h0m0s",
        "mirror_updated": None,
    }
    await pages.submit(MIRRORS, "Save", to=MIRRORS)
    await pages.submit(MIRRORS, "Save", to=MIRRORS, mirror_interval="1h", mirror_password=" secret ")
    assert forge.sent == [
        ("PATCH", HOME, {"mirror_interval": "8h0m0s"}),
        ("PATCH", HOME, {"mirror_interval": "1h", "mirror_password": " secret "}),
    ]
    forge.refuses = 422
    refused = await pages.submit(MIRRORS, "Save", to=MIRRORS, mirror_interval="soon", mirror_user="bot")
    assert (refused.status_code, 'value="soon"' in refused.text, 'value="bot"' in refused.text) == (
        422,
        True,
        True,
    )


@pytest.mark.parametrize(("interval", "words"), [("2h0m0s", " · every 2h0m0s"), ("0h0m0s", "")])
async def test_a_push_mirror_is_made_with_its_interval_and_shows_it(pages, forge, interval, words):
    forge.answers[f"{HOME}/push_mirrors"] = [PUSH_MIRROR | {"interval": interval}]
    await pages.submit(MIRRORS, "Add the mirror", to=MIRRORS, remote="https://a/b.git", interval=interval)
    assert forge.sent[0][:2] == ("POST", f"{HOME}/push_mirrors")
    assert forge.sent[0][2]["interval"] == interval
    assert f"not pushed yet{words} · after each push" in (await pages.get(MIRRORS, ANN)).text
