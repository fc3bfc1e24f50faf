"""Messages for chats: their shape, and that texts from outside stay texts."""

import json
from typing import Any

import msgspec
import pytest

from ingot_chassis.testing.receiver import Receiver
from ingot_contracts.repos import NO_COMMIT, RepositoryDeleted
from ingot_hooks.core import payloads
from ingot_hooks.core.bodies import body_for
from ingot_hooks.core.payloads import Notice

from .builders import ACME, ANN, config, hook, push, repository
from .conftest import World
from .test_payloads import everything

SETTINGS = {"channel": "#builds", "username": "forge", "icon_url": "http://i", "color": ""}
KEYS = {
    "slack": "channel text username icon_url unfurl_links link_names attachments",
    "discord": "wait content username avatar_url tts embeds",
    "dingtalk": "msgtype actionCard",
    "telegram": "text parse_mode disable_web_page_preview",
    "msteams": "@type @context themeColor title summary sections potentialAction",
    "feishu": "msg_type content",
    "matrix": "msgtype body format formatted_body",
}


def message(type_: str, notice: Notice) -> Any:
    return json.loads(body_for(type_, SETTINGS, notice))


@pytest.mark.parametrize("type_", KEYS)
@pytest.mark.parametrize("notice", everything(), ids=lambda notice: notice.event)
def test_every_event_has_a_message_of_the_shape_of_the_chat(type_: str, notice: Notice) -> None:
    sent = message(type_, notice)
    assert list(sent) == KEYS[type_].split()
    assert "secret" not in sent
    assert "ann" in json.dumps(sent)


def test_slack_text_is_escaped_and_links_are_links() -> None:
    notice = next(notice for notice in everything() if notice.event == "issues")
    text = message("slack", notice)["text"]
    assert "<http://forge/ann/app|ann/app>" in text
    assert "It &lt;burns&gt;" in text


def test_slack_gets_no_attachments_for_a_new_branch() -> None:
    created, _pushed = payloads.notices_of_push(push(before=NO_COMMIT))
    assert message("slack", created)["attachments"] is None


def test_slack_lists_the_commits_of_a_push() -> None:
    (notice,) = payloads.notices_of_push(push(commits=2))
    (attachment,) = message("slack", notice)["attachments"]
    assert attachment["text"].count("change - Ann") == 2
    assert attachment["color"] == "#1ac600"


def test_discord_says_all_in_an_embed() -> None:
    (notice,) = payloads.notices_of_push(push())
    (embed,) = message("discord", notice)["embeds"]
    assert embed["title"] == "[ann/app:main] 1 new commit pushed by ann"
    assert embed["color"] == 0x1AC600
    assert embed["author"]["url"] == "http://forge/ann"


def test_dingtalk_is_told_of_a_deleted_repository_in_plain_text() -> None:
    event = RepositoryDeleted(repository=repository(owner=ACME), sender=ANN, owner_kind="organization")
    (notice,) = payloads.notices_of_repository(event)
    assert message("dingtalk", notice) == {
        "msgtype": "text",
        "text": {"content": "[acme/app] repository deleted by ann"},
    }


async def test_slack_needs_a_channel_and_shows_its_settings(world: World) -> None:
    refused = await world.call("POST", "/repos/ann/app/hooks", hook(type="slack"))
    assert refused.json()["errors"][0]["field"] == "config.channel"
    body = hook(type="slack", config=config(**SETTINGS))
    created = await world.call("POST", "/repos/ann/app/hooks", body)
    assert created.json()["config"]["channel"] == "#builds"
    path = f"/repos/ann/app/hooks/{created.json()['id']}"
    edited = await world.call("PATCH", path, {"config": {"username": "other"}})
    assert edited.json()["config"]["username"] == "forge"
    edited = await world.call("PATCH", path, {"config": {"channel": "#new"}})
    assert (edited.json()["config"]["channel"], edited.json()["config"]["username"]) == ("#new", "")


def test_html_of_telegram_and_matrix_is_escaped() -> None:
    notice = next(notice for notice in everything() if notice.event == "issues")
    for text in (message("telegram", notice)["text"], message("matrix", notice)["formatted_body"]):
        assert "It &lt;burns&gt;" in text
        assert '<a href="http://forge/ann/app">ann/app</a>' in text


def test_telegram_gets_no_more_than_it_takes() -> None:
    (notice,) = payloads.notices_of_push(push(commits=5))
    commits = [msgspec.structs.replace(commit, message="<" * 300) for commit in notice.payload.commits]
    long = msgspec.structs.replace(notice.payload, commits=commits)
    text = message("telegram", msgspec.structs.replace(notice, payload=long))["text"]
    assert len(text) <= 4096
    assert text.count("<a ") == text.count("</a>")


async def test_matrix_messages_are_put_under_the_id_of_the_delivery(world: World, receiver: Receiver) -> None:
    url = receiver.url + "/_matrix/client/v3/rooms/r/send/m.room.message?x=1"
    body = hook(type="matrix", config=config(url, content_type="form"), authorization_header="Bearer t")
    assert (await world.call("POST", "/repos/ann/app/hooks", body)).status_code == 201
    await world.hear(push())
    await world.deliverer.step()
    (request,) = receiver.requests
    path, _, query = request.path.partition("?")
    assert (request.method, query) == ("PUT", "x=1")
    assert path.endswith("/m.room.message/" + request.headers["webhook-id"])
    assert json.loads(request.body)["msgtype"] == "m.notice"
