"""Sizes of events: the worst texts that can be stored stay below the limit of the bus."""

import types
from collections import Counter
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from sqlalchemy import insert, select, update

from ingot_chassis.events.envelope import event_type
from ingot_chassis.events.relay import encode_row
from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import (
    ChecksFailed,
    Event,
    IssueChanged,
    IssueDeleted,
    MergeRequested,
    PeopleNotified,
)
from ingot_contracts.limits import (
    ASSIGNEES,
    EVENT_BODY_BYTES,
    EVENT_BYTES,
    EVENT_LABELS,
    EVENT_NAME_BYTES,
    EVENT_TEXT_BYTES,
    clip,
    encoded_bytes,
)
from ingot_contracts.repos.events import RepositoryDeleted
from ingot_contracts.repos.repositories import Repository
from ingot_issues.accounts.store import account as account_table
from ingot_issues.issues.store.assignees import assignee as assignee_table
from ingot_issues.labels.store.tables import issue_label as issue_label_table
from ingot_issues.labels.store.tables import label as label_table
from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_issues.milestones.store import milestone as milestone_table
from ingot_issues.records.store.tables import comment as comment_table
from ingot_issues.records.store.tables import issue as issue_table
from ingot_issues.repositories.rules.announcements import clip_event

from ..builders import APP, THEN, repository
from ..world import World

WORST = "\x01"
"""Six bytes in JSON, the most that a character takes."""
LONG = 200_000
MANY = 150


def worst(kind: Any) -> Any:
    """The largest value of a type: every text is long, every list has many items."""
    if kind is str:
        return WORST * LONG
    if get_origin(kind) in (Union, types.UnionType):
        return worst(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return max(get_args(kind), key=len)
    if get_origin(kind) is list:
        return [worst(get_args(kind)[0])] * MANY
    if kind is datetime:
        return THEN
    if kind in (int, bool):
        return kind(2**62)
    hints = get_type_hints(kind)
    if kind is Repository:
        del hints["parent"], hints["repo_transfer"], hints["units_map"]  # no event has them
    return kind(**{name: worst(hints[name]) for name in hints if name in kind.__struct_fields__})


def largest_fields(event: msgspec.Struct, count: int = 8) -> str:
    """The fields with the most bytes, those of all items of a list together."""
    sizes = Counter[str]()

    def add(value: Any, path: str, repeats: int) -> None:
        if isinstance(value, msgspec.Struct):
            for name in value.__struct_fields__:
                add(getattr(value, name), f"{path}.{name}".removeprefix("."), repeats)
        elif isinstance(value, list):
            for _, items in groupby(value, key=id):  # `worst` repeats one item
                item, *others = items
                add(item, f"{path}[]", repeats * (1 + len(others)))
        elif value is not msgspec.UNSET:
            sizes[path] += repeats * len(msgspec.json.encode(value))

    add(event, "", 1)
    return ", ".join(f"{path} ({size})" for path, size in sizes.most_common(count))


def test_the_largest_fields_are_named_with_the_bytes_of_all_their_items():
    event = worst(IssueChanged)
    assert largest_fields(event, 2).startswith(f"issue.labels[].name ({MANY * (6 * LONG + 2)}), ")


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_event_fits_whatever_is_in_it(kind):
    happened = clip_event(worst(kind))
    size = len(msgspec.json.encode(happened))
    assert size < EVENT_BYTES, (
        f"{size} bytes, {size - EVENT_BYTES} too many. The largest fields are {largest_fields(happened)}. "
        "Give one a smaller budget in ingot_contracts: most_bytes of a text, most_items of a list."
    )
    assert clip_event(happened) is happened or clip_event(happened) == happened


def test_an_event_that_fits_is_not_changed():
    happened = msgspec.convert(
        {
            "type": "issues.issue.changed.v1", "action": "opened", "sender": {"id": 1, "login": "ann"},
            "repository": {
                "id": 7, "owner": {"id": 1, "login": "ann"}, "name": "app", "full_name": "ann/app",
                "created_at": THEN, "updated_at": THEN,
            },
            "issue": {
                "id": 1, "url": "", "number": 1, "user": {"id": 1, "login": "ann"}, "title": "x",
                "labels": [{"id": 1, "name": "bug", "color": "ff0000"}], "created_at": THEN,
                "updated_at": THEN,
            },
        },
        IssueChanged,
    )  # fmt: skip
    assert clip_event(happened) is happened


async def fill(world: World) -> None:
    """An issue (1), a pull request (2), each with all that is shown of it at its longest."""
    name, text = WORST * 255, WORST * LONG
    await world.open_issue()
    await world.propose()
    for _ in range(2):
        await world.call("POST", "/issues/1/comments", {"body": "x"})
    await world.create_milestone()
    labels = [
        {"id": number, "repository_id": APP, "name": name, "color": "f" * 6} for number in range(1, MANY + 1)
    ]
    people = [
        {"id": number, "kind": "user", "login": f"u{number}", "lower_login": f"u{number}"}
        for number in range(100, 100 + ASSIGNEES)
    ]
    shown = {"full_name": WORST * 100, "email": WORST * 254, "avatar_url": WORST * 2_000}
    async with world.db.transaction() as tx:
        await tx.execute(update(milestone_table).values(title=name, description=text))
        await tx.execute(update(issue_table).values(title=name, body=text, milestone_id=1))
        await tx.execute(update(comment_table).values(body=text))
        await tx.execute(insert(label_table), labels)
        await tx.execute(insert(account_table), people)
        await tx.execute(update(account_table).values(shown))
        for issue_id in (1, 2):
            on = [{"issue_id": issue_id, "label_id": label["id"]} for label in labels]
            assignees = [
                {"issue_id": issue_id, "account_id": one["id"], "position": place}
                for place, one in enumerate(people)
            ]
            await tx.execute(insert(issue_label_table), on)
            await tx.execute(insert(assignee_table), assignees)


async def act(world: World) -> None:
    """Whatever issues tells of, once."""
    body = {"title": "next", "body": WORST * LARGEST}
    for method, path, data in (
        ("PATCH", "/issues/1", {"title": "first"}),
        ("PATCH", "/issues/1", body),
        ("PATCH", "/issues/1", {"milestone": 0}),
        ("PATCH", "/issues/1", {"milestone": 1, "state": "closed"}),
        ("PATCH", "/issues/comments/1", {"body": WORST * LARGEST}),
        ("DELETE", "/issues/comments/2", None),
        ("PATCH", "/pulls/2", {"title": "first"}),
        ("PATCH", "/pulls/2", body),
        ("PUT", "/issues/2/lock", {}),
        ("PATCH", "/labels/1", {"color": "#00ff00"}),
        ("PATCH", "/milestones/1", {"state": "closed"}),
        ("POST", "/issues/1/times", {"time": 5}),
        ("POST", "/pulls/2/requested_reviewers", {"reviewers": ["cat"]}),
        ("POST", "/pulls/2/reviews", {"event": "COMMENT", "body": WORST * LARGEST}),
        ("POST", "/pulls/2/merge", {}),
    ):
        answer = await world.call(method, path, data)
        assert answer.is_success, (path, answer.text)
    await world.announcer.step()
    await world.deliver(RepositoryDeleted(repository=repository(), sender=User(id=1, login="ann")))


async def test_events_of_the_longest_stored_texts_fit(world):
    described = WORST * LONG
    world.repos.repositories[APP] = repository(description=described, website=described)
    await fill(world)
    await act(world)
    outbox = world.db.metadata.tables["outbox"]
    async with world.db.read() as db:
        rows = (await db.execute(select(outbox))).all()
    # These have only ids.
    kinds = set(get_args(Event)) - {MergeRequested, IssueDeleted, PeopleNotified, ChecksFailed}
    assert {row.type for row in rows} == {event_type(kind) for kind in kinds}
    assert max(len(encode_row(row)) for row in rows) < EVENT_BYTES


async def test_an_event_says_how_much_it_leaves_out_and_the_api_has_all(world):
    await fill(world)
    text = WORST * LONG
    assert (await world.call("PATCH", "/issues/1", {"title": "new"})).status_code == 201
    [*_, event] = await world.payloads("issues.issue.changed.v1")
    issue = event["issue"]
    assert encoded_bytes(issue["body"]) in range(EVENT_BODY_BYTES - 5, EVENT_BODY_BYTES + 1)
    assert issue["milestone"]["description"] == clip(text, EVENT_TEXT_BYTES)
    assert event["changes"]["title"]["from"] == clip(WORST * 255, EVENT_NAME_BYTES)
    assert (len(issue["labels"]), event["omitted"]["labels"]) == (EVENT_LABELS, MANY - EVENT_LABELS)
    names = (1 + 1 + EVENT_LABELS) * (255 - EVENT_NAME_BYTES // 6)  # the former title, milestone and labels
    texts = 2 * LONG - len(issue["body"]) - len(issue["milestone"]["description"])
    shown = [issue["user"], issue["assignee"], *issue["assignees"], event["sender"]]
    people = sum(254 - len(one["email"]) + 2_000 - len(one["avatar_url"]) for one in shown)
    assert event["omitted"]["characters"] == names + texts + people
    whole = (await world.call("GET", "/issues/1")).json()
    assert (whole["body"], whole["milestone"]["description"], len(whole["labels"])) == (text, text, MANY)


async def test_a_milestone_says_how_much_of_its_description_is_left_out(world):
    text = "\u20ac" * 65_536
    created = await world.call("POST", "/milestones", {"title": "one", "description": text})
    assert created.json()["description"] == text
    [event] = await world.payloads("issues.milestone.changed.v1")
    length = len(event["milestone"]["description"])
    assert (length, event["omitted"]) == (EVENT_TEXT_BYTES // 3, {"characters": 65_536 - length})


async def test_an_event_has_the_whole_name_of_the_longest_branch(world):
    branch = "\U0001f331" * 255
    await world.propose(head=branch)
    [event] = await world.payloads("issues.pull.changed.v1")
    assert (event["pull_request"]["head"]["ref"], event.get("omitted")) == (branch, {})
