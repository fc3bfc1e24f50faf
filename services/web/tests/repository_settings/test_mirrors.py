"""Mirrors of a repository as pages show and change them."""

import pytest

from ..forge import HOME
from ..world import ANN

MIRRORS = "/ann/demo/settings/mirrors"


PUSH_MIRROR = {
    "remote_address": "https://a/b.git", "remote_name": "m1", "last_update": None, "sync_on_commit": True,
    "last_error": "",
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
    await pages.submit(MIRRORS, "Add mirror", to=MIRRORS, remote="https://a/b.git", interval=interval)
    assert forge.sent[0][:2] == ("POST", f"{HOME}/push_mirrors")
    assert forge.sent[0][2]["interval"] == interval
    assert f"not pushed yet{words} · after each push" in (await pages.get(MIRRORS, ANN)).text
