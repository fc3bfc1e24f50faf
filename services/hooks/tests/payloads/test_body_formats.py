"""Messages for chats: their structure, and that text from outside is escaped."""

import json
from typing import Any

import msgspec
import pytest

from ingot_contracts.issues.events import ReviewChanged
from ingot_contracts.issues.reviews import PullReview
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_contracts.repos.events import RepositoryDeleted
from ingot_hooks.payloads.rules import notices
from ingot_hooks.payloads.rules.body_formats import body_for
from ingot_hooks.payloads.rules.notices import Notice
from ingot_hooks.payloads.rules.summaries import summary_of

from ..builders import ACME, ANN, config, hook, pull_request, push, repository, status
from .test_notices import sample_notices

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
@pytest.mark.parametrize("notice", sample_notices(), ids=lambda notice: notice.event)
def test_every_event_has_a_message_of_the_shape_of_the_chat(type_, notice):
    sent = message(type_, notice)
    assert list(sent) == KEYS[type_].split()
    assert "secret" not in sent
    assert "ann" in json.dumps(sent)


def test_slack_text_is_escaped_and_links_are_links():
    notice = next(notice for notice in sample_notices() if notice.event == "issues")
    text = message("slack", notice)["text"]
    assert "<http://forge/ann/app|ann/app>" in text
    assert "It &lt;burns&gt;" in text


def test_slack_gets_no_attachments_for_a_new_branch():
    created, _push = notices.notices_of_push(push(before=NO_COMMIT))
    assert message("slack", created)["attachments"] is None


def test_slack_lists_the_commits_of_a_push():
    (notice,) = notices.notices_of_push(push(commits=2))
    (attachment,) = message("slack", notice)["attachments"]
    assert attachment["text"].count("change - Ann") == 2
    assert attachment["color"] == "#1ac600"


def test_the_subject_of_a_commit_is_behind_blank_lines():
    event = push(commits=1)
    blank = msgspec.structs.replace(event.commits[0], message="\n \nchange\n\nmore\n")
    (notice,) = notices.notices_of_push(msgspec.structs.replace(event, commits=[blank]))
    assert "change - Ann" in message("slack", notice)["attachments"][0]["text"]


@pytest.mark.parametrize(
    ("state", "color"),
    [("success", "#1ac600"), ("skipped", "#1ac600"), ("pending", "#ffd930"), ("error", "#ff3232")],
)
def test_a_status_has_the_colour_of_what_it_means_for_a_merge(state, color):
    (notice,) = notices.notices_of_status(status(state))
    assert message("slack", notice)["attachments"][0]["color"] == color


def test_a_discord_message_is_an_embed():
    (notice,) = notices.notices_of_push(push())
    (embed,) = message("discord", notice)["embeds"]
    assert embed["title"] == "[ann/app:main] 1 new commit pushed by ann"
    assert embed["color"] == 0x1AC600
    assert embed["author"]["url"] == "http://forge/ann"


def test_dingtalk_gets_plain_text_for_a_deleted_repository():
    event = RepositoryDeleted(repository=repository(owner=ACME), sender=ANN, owner_kind="organization")
    (notice,) = notices.notices_of_repository(event)
    assert message("dingtalk", notice) == {
        "msgtype": "text",
        "text": {"content": "[acme/app] repository deleted by ann"},
    }


@pytest.mark.parametrize(
    ("state", "verb"), [("APPROVED", "approved"), ("REQUEST_CHANGES", "rejected"), ("COMMENT", "commented")]
)
def test_a_chat_shows_what_a_review_says(state, verb):
    event = ReviewChanged(
        action="submitted",
        review=PullReview(id=1, user=ANN, state=state, body="so"),
        pull_request=pull_request(),
        repository=repository(),
        sender=ANN,
    )
    [notice] = notices.notices_of_review(event)
    summary = summary_of(notice)
    assert [part for part in summary.headline if isinstance(part, str)][-2:] == [f" {verb}", " by ann"]
    assert summary.detail == [["so"]]


async def test_slack_needs_a_channel_and_shows_its_settings(world):
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


def test_html_of_telegram_and_matrix_is_escaped():
    notice = next(notice for notice in sample_notices() if notice.event == "issues")
    for text in (message("telegram", notice)["text"], message("matrix", notice)["formatted_body"]):
        assert "It &lt;burns&gt;" in text
        assert '<a href="http://forge/ann/app">ann/app</a>' in text


def test_a_telegram_message_has_at_most_4096_characters():
    (notice,) = notices.notices_of_push(push(commits=5))
    commits = [msgspec.structs.replace(commit, message="<" * 300) for commit in notice.payload.commits]
    long = msgspec.structs.replace(notice.payload, commits=commits)
    text = message("telegram", msgspec.structs.replace(notice, payload=long))["text"]
    assert len(text) <= 4096
    assert text.count("<a ") == text.count("</a>")


async def test_matrix_messages_are_put_under_the_id_of_the_delivery(world, receiver):
    url = receiver.url + "/_matrix/client/v3/rooms/r/send/m.room.message?x=1"
    body = hook(type="matrix", config=config(url, content_type="form"), authorization_header="Bearer t")
    assert (await world.call("POST", "/repos/ann/app/hooks", body)).status_code == 201
    await world.deliver(push())
    await world.worker.step()
    (request,) = receiver.requests
    path, _, query = request.path.partition("?")
    assert (request.method, query) == ("PUT", "x=1")
    assert path.endswith("/m.room.message/" + request.headers["webhook-id"])
    assert json.loads(request.body)["msgtype"] == "m.notice"
