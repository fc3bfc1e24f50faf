"""Feeds and heatmaps: what is recorded, and who reads it."""

import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from ingot_chassis.clock import now
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.http.parts import PARTS
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import Account, User
from ingot_contracts.identity.events import UserDeleted, UserEdited
from ingot_contracts.identity.units import write_levels
from ingot_contracts.issues.events import (
    CommentChanged,
    IssueChanged,
    IssueDeleted,
    PullRequestChanged,
    ReviewChanged,
)
from ingot_contracts.issues.issues import Comment, Issue
from ingot_contracts.issues.pulls import BaseBranch, PullRequest, PullRequestBranch
from ingot_contracts.issues.reviews import PullReview
from ingot_contracts.repos.commits import Commit, CommitAuthor
from ingot_contracts.repos.events import PushReceived, ReleaseChanged
from ingot_contracts.repos.releases import Release
from ingot_contracts.repos.repositories import Repository
from ingot_repos.activities import store
from ingot_repos.activities.jobs import ActivitySweep

pytestmark = pytest.mark.both_databases

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ANN, BOB = User(id=1, login="ann"), User(id=2, login="bob")
ZERO, OLD, NEW = "0" * 40, "1" * 40, "2" * 40
URL = "http://ingot.test/x"
UNITS = ("code", "issues", "pulls", "releases")


async def deliver_own(world):
    """repos consumes the events that it has emitted so far."""
    for row in await world.rows("outbox"):
        envelope = Envelope(
            id=row.id,
            type=row.type,
            key=row.key,
            seq=row.seq,
            occurred_at=row.created_at,
            data=msgspec.Raw(row.payload),
        )
        await world.app.state.parts.consumers.apply(envelope)


def of(shown):
    return msgspec.convert(shown, Repository, strict=False)


@pytest.fixture
async def app(world, ann, bob):
    """A public repository of ann, without activities. bob may sign in."""
    await bob.create("own")
    return of(await ann.create("app"))


@pytest.fixture
async def secret(world, ann):
    return of(await ann.create("secret", private=True))


def issue(number=3, title="It flickers"):
    return Issue(
        id=70 + number,
        url=URL,
        html_url=URL,
        number=number,
        user=ANN,
        title=title,
        body="",
        state="open",
        created_at=AT,
        updated_at=AT,
        comments=0,
        labels=[],
        milestone=None,
        assignee=None,
        assignees=[],
        closed_at=None,
        due_date=None,
        pull_request=None,
        is_locked=False,
        repository=None,
    )


def issue_event(repository, action="opened", sender=ANN, **fields):
    return IssueChanged(action=action, issue=issue(**fields), repository=repository, sender=sender)


def pull(repository, **fields):
    branch = {"label": "main", "ref": "main", "sha": OLD, "repo_id": repository.id}
    sample = {
        **msgspec.structs.asdict(issue(number=4, title="Mend it")),
        "base": BaseBranch(**branch),
        "head": PullRequestBranch(**branch, repo=repository),
        **fields,
    }
    own = {field.name for field in msgspec.structs.fields(PullRequest)}
    return PullRequest(**{name: value for name, value in sample.items() if name in own})


def pull_event(repository, action="opened", **fields):
    return PullRequestChanged(
        action=action, pull_request=pull(repository, **fields), repository=repository, sender=ANN
    )


def comment_event(repository, action="created", body="Mine too", **fields):
    comment = Comment(id=9, html_url=URL, user=ANN, body=body, created_at=AT, updated_at=AT)
    values = {"action": action, "issue": issue(), "comment": comment, "sender": ANN, **fields}
    return CommentChanged(repository=repository, **values)


def review_event(repository, state, action="submitted"):
    review = PullReview(id=5, user=ANN, state=state, body="Well made")
    return ReviewChanged(
        action=action, review=review, pull_request=pull(repository), repository=repository, sender=ANN
    )


def push(repository, ref="refs/heads/main", before=OLD, after=NEW, pusher=ANN, count=1):
    author = CommitAuthor(name="Ann", email="ann@example.org", username="ann")
    commit = Commit(id=NEW, message="Mend", url=URL, author=author, committer=author, timestamp=AT)
    commits = [commit] * count if after != ZERO else []
    return PushReceived(
        repository=repository,
        pusher=pusher,
        ref=ref,
        before=before,
        after=after,
        commits=commits,
        total_commits=len(commits),
    )


def release_event(repository, action="published"):
    release = Release(
        id=6,
        tag_name="v1",
        target_commitish="main",
        name="First",
        body="",
        url=URL,
        html_url=URL,
        tarball_url=URL,
        zipball_url=URL,
        upload_url=URL,
        draft=False,
        prerelease=False,
        created_at=AT,
        published_at=AT,
        author=ANN,
        assets=[],
    )
    return ReleaseChanged(action=action, repository=repository, sender=ANN, release=release)


async def kinds(person, path, **options):
    answer = await person.get(path, **options)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-total-count"] == str(len(answer.json()))
    return [one["op_type"] for one in answer.json()]


FEED = "/repos/ann/app/activities/feeds"

RECORDED = [
    (issue_event, {}, "create_issue", "3|It flickers", ""),
    (issue_event, {"action": "closed"}, "close_issue", "3|", ""),
    (issue_event, {"action": "reopened"}, "reopen_issue", "3|", ""),
    (pull_event, {}, "create_pull_request", "4|Mend it", ""),
    (pull_event, {"action": "closed"}, "close_pull_request", "4|", ""),
    (pull_event, {"action": "closed", "merged": True}, "merge_pull_request", "4|Mend it", ""),
    (pull_event, {"action": "reopened"}, "reopen_pull_request", "4|", ""),
    (comment_event, {}, "comment_issue", "3|Mine too", ""),
    (comment_event, {"is_pull": True}, "comment_pull", "3|Mine too", ""),
    (review_event, {"state": "APPROVED"}, "approve_pull_request", "4|Well made", ""),
    (review_event, {"state": "REQUEST_CHANGES"}, "reject_pull_request", "4|Well made", ""),
    (review_event, {"state": "COMMENT"}, "comment_pull", "4|Well made", ""),
    (review_event, {"state": "APPROVED", "action": "dismissed"}, "pull_review_dismissed", "4||", ""),
    (push, {"after": ZERO}, "delete_branch", "", "refs/heads/main"),
    (push, {"ref": "refs/tags/v1", "before": ZERO}, "push_tag", "", "refs/tags/v1"),
    (push, {"ref": "refs/tags/v1", "after": ZERO}, "delete_tag", "", "refs/tags/v1"),
    (release_event, {}, "publish_release", "First", "v1"),
]


@pytest.mark.parametrize(("build", "fields", "kind", "content", "ref"), RECORDED)
async def test_an_event_is_an_activity_of_its_sender(world, bob, app, build, fields, kind, content, ref):
    await world.deliver(build(app, **fields))
    (shown,) = (await bob.get(FEED)).json()
    assert (shown["op_type"], shown["content"], shown["ref_name"]) == (kind, content, ref)
    assert (shown["act_user_id"], shown["act_user"]["login"]) == (1, "ann")
    assert (shown["repo_id"], shown["repo"]["full_name"], shown["is_private"]) == (app.id, "ann/app", False)


IGNORED = [
    (issue_event, {"action": "edited"}),
    (issue_event, {"sender": User(id=-1, login="Ghost")}),
    (pull_event, {"action": "synchronized"}),
    (comment_event, {"on_line": True}),
    (review_event, {"state": "APPROVED", "action": "undismissed"}),
    (push, {"ref": "refs/tags/v1"}),
    (push, {"ref": "refs/notes/commits"}),
    (release_event, {"action": "updated"}),
]


@pytest.mark.parametrize(("build", "fields"), IGNORED)
async def test_other_events_are_none(world, bob, app, build, fields):
    await world.deliver(build(app, **fields))
    assert await kinds(bob, FEED) == []


async def test_a_push_shows_its_latest_commits(world, bob, app):
    await world.deliver(push(app, count=7))
    (shown,) = (await bob.get(FEED)).json()
    content = json.loads(shown["content"])
    assert (shown["op_type"], content["Len"], len(content["Commits"])) == ("commit_repo", 7, 5)
    assert content["HeadCommit"]["Sha1"] == NEW
    assert content["CompareURL"] == f"ann/app/compare/{OLD}...{NEW}"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [({}, "push"), ({"before": ZERO}, "create"), ({"after": ZERO}, "delete")],
)
async def test_a_push_of_a_mirror_is_a_sync(world, bob, app, fields, kind):
    await world.deliver(push(msgspec.structs.replace(app, mirror=True), **fields))
    assert await kinds(bob, FEED) == [f"mirror_sync_{kind}"]


async def test_a_repository_is_created_renamed_and_followed(world, ann, bob, app):
    await world.deliver(push(app))
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "lamp"})
    await deliver_own(world)
    answer = await bob.get("/repos/ann/lamp/activities/feeds")
    shown = {one["op_type"]: one for one in answer.json()}
    assert set(shown) == {"create_repo", "rename_repo", "commit_repo"}
    assert shown["rename_repo"]["content"] == "app"
    assert "ann/lamp/compare/" in shown["commit_repo"]["content"]
    assert {one["repo"]["full_name"] for one in shown.values()} == {"ann/lamp"}


async def test_a_transfer_does_not_name_the_former_owner(world, ann, bob, app):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True)
    assert (await ann.post("/repos/ann/app/transfer", {"new_owner": "acme"})).status_code in (201, 202)
    await deliver_own(world)
    answer = (await bob.get("/repos/acme/app/activities/feeds")).json()
    (shown,) = [one for one in answer if one["op_type"] == "transfer_repo"]
    assert shown["content"] == ""
    assert len(await kinds(bob, "/orgs/acme/activities/feeds")) == len(answer)


async def test_the_text_of_a_comment_follows_its_edits_and_its_deletion(world, bob, app):
    await world.deliver(comment_event(app))
    await world.deliver(comment_event(app, "edited", "Not mine"))
    (shown,) = (await bob.get(FEED)).json()
    assert (shown["content"], shown["comment_id"]) == ("3|Not mine", 9)
    comment = shown["comment"]
    assert (comment["body"], comment["user"]["login"], comment["id"]) == ("Not mine", "ann", 9)
    assert comment["issue_url"] == "http://ingot.test/ann/app/issues/3"
    await world.deliver(comment_event(app, "deleted"))
    assert await kinds(bob, FEED) == []


async def test_a_deleted_issue_takes_its_activities_with_it(world, bob, app):
    await world.deliver(issue_event(app))
    await world.deliver(comment_event(app))
    await world.deliver(issue_event(app, number=8))
    await world.deliver(IssueDeleted(repository_id=app.id, number=3))
    assert [one["content"] for one in (await bob.get(FEED)).json()] == ["8|It flickers"]


async def test_a_withdrawn_release_is_no_activity(world, bob, app):
    await world.deliver(release_event(app))
    await world.deliver(release_event(app, "deleted"))
    assert await kinds(bob, FEED) == []


async def test_a_deleted_user_has_no_activities(world, bob, app):
    await world.deliver(push(app, pusher=BOB))
    await world.deliver(push(app))
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    assert [row.actor_id for row in await world.rows("activity")] == [1]


async def test_a_deleted_repository_has_no_activities_and_gets_no_late_ones(world, ann, app):
    await world.deliver(push(app))
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    await world.deliver(push(app))
    assert await world.rows("activity") == []


async def test_private_repositories_are_for_those_who_read_them(world, ann, bob, app, secret):
    nobody = world.user(0, "")
    await world.deliver(push(app))
    await world.deliver(push(secret))
    path = "/users/ann/activities/feeds?only-performed-by=true"
    assert len(await kinds(ann, path)) == 2
    for person in (bob, nobody):
        (shown,) = (await person.get(path)).json()
        assert shown["repo"]["full_name"] == "ann/app"
        assert len(await kinds(person, path)) == 1
        assert (await person.get("/repos/ann/secret/activities/feeds")).status_code == 404
        assert sum(one["contributions"] for one in (await person.get("/users/ann/heatmap")).json()) == 1
    assert sum(one["contributions"] for one in (await ann.get("/users/ann/heatmap")).json()) == 2
    await ann.call("PUT", "/api/v1/repos/ann/secret/collaborators/bob")
    assert len(await kinds(bob, path)) == 2
    await ann.call("DELETE", "/api/v1/repos/ann/secret/collaborators/bob")
    assert len(await kinds(bob, path)) == 1
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert await kinds(bob, path) == []
    assert (await bob.get("/users/ann/heatmap")).json() == []


async def test_a_token_of_one_repository_reads_no_other(world, ann, app, secret):
    await world.deliver(push(app))
    await world.deliver(push(secret))
    restricted = ann.but(restricted_to=[app.id])
    path = "/users/ann/activities/feeds?only-performed-by=true"
    assert [one["repo"]["name"] for one in (await restricted.get(path)).json()] == ["app"]


async def test_a_restricted_user_reads_what_happens_in_repositories_that_they_were_given(
    world, ann, bob, app
):
    await world.deliver(push(app))
    restricted = bob.but(granted_only=True)
    world.identity.add_account(2, "bob", granted_only=True)
    path = "/users/ann/activities/feeds?only-performed-by=true"

    async def shown():
        heatmap = (await restricted.get("/users/ann/heatmap")).json()
        answer = await restricted.get(path)
        return len(answer.json()), answer.headers["x-total-count"], len(heatmap)

    assert await shown() == (0, "0", 0)
    assert (await restricted.get("/repos/ann/app/activities/feeds")).status_code == 404
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob")
    assert await shown() == (1, "1", 1)
    await ann.call("DELETE", "/api/v1/repos/ann/app/collaborators/bob")
    assert await shown() == (0, "0", 0)


@pytest.mark.parametrize(
    "fields", [{"hide_activity": True}, {"visibility": "private"}, {"hide_activity": None}]
)
async def test_hidden_activities_are_for_the_user_and_administrators(world, ann, bob, app, fields):
    site = world.user(5, "site").but(admin=True)
    await world.deliver(push(app))
    await world.deliver(push(app, pusher=BOB))
    account = {"id": 2, "kind": "user", "login": "bob", "hide_activity": False, **fields}
    await world.deliver(UserEdited(account=Account(**account), previous_login="bob"))
    for person, count in ((ann, 1), (world.user(0, ""), 1), (bob, 2), (site, 2)):
        assert len(await kinds(person, FEED)) == count
    for person in (bob, site):
        assert len(await kinds(person, "/users/bob/activities/feeds?only-performed-by=true")) == 1
        assert len((await person.get("/users/bob/heatmap")).json()) == 1
    if "visibility" not in fields:
        assert await kinds(ann, "/users/bob/activities/feeds?only-performed-by=true") == []
        assert (await ann.get("/users/bob/heatmap")).json() == []
    else:
        assert (await ann.get("/users/bob/heatmap")).status_code == 404


@pytest.mark.parametrize("switch", ["has_issues", "has_pull_requests"])
async def test_a_unit_that_is_switched_off_has_no_activities(world, ann, bob, app, switch):
    await world.deliver(issue_event(app) if switch == "has_issues" else pull_event(app))
    await world.deliver(push(app))
    await ann.call("PATCH", "/api/v1/repos/ann/app", {switch: False})
    assert await kinds(bob, FEED) == ["commit_repo"]


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        ({"code": "read"}, {"commit_repo"}),
        ({"issues": "read"}, {"create_issue"}),
        ({"pulls": "read"}, set()),
        ({"pulls": "read", "code": "read"}, {"create_pull_request", "commit_repo"}),
        ({"releases": "write"}, {"publish_release"}),
        ({"wiki": "read"}, set()),
    ],
)
@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_member_of_a_team_reads_the_units_of_the_team(world, ann, levels, shown, everywhere):
    mia = world.user(3, "mia")
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(50, 9, "owner")
    permission = write_levels(levels)
    world.identity.join(3, 9, teams={51: permission}, **({"everywhere": permission} if everywhere else {}))
    world.identity.add_team(51, 9, "read")
    repository = of((await ann.post("/org/acme/repos", {"name": "app", "private": True})).json())
    if not everywhere:
        assert (await ann.call("PUT", "/api/v1/teams/51/repos/acme/app")).status_code == 204
    for event in (push, issue_event, pull_event, release_event):
        await world.deliver(event(repository))
    membership = Membership(teams={51: permission}, everywhere=permission if everywhere else "")
    member = mia.but(organizations={9: membership})
    everyones = {"create_repo"} if everywhere or levels else set()
    await deliver_own(world)
    for path in ("/repos/acme/app", "/orgs/acme", "/users/acme", "/teams/51"):
        if path == "/teams/51" and everywhere:
            continue
        assert set(await kinds(member, f"{path}/activities/feeds")) == shown | everyones, path
    counted = (await member.get("/users/ann/heatmap")).json()
    assert sum(one["contributions"] for one in counted) == len(shown | everyones)


async def test_a_team_is_for_members_of_its_organization(world, ann, bob):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(50, 9, "owner")
    repository = of((await ann.post("/org/acme/repos", {"name": "app"})).json())
    await world.deliver(push(repository))
    assert await kinds(ann, "/teams/50/activities/feeds") == ["commit_repo"]
    assert (await bob.get("/teams/50/activities/feeds")).status_code == 404
    assert (await world.user(0, "").get("/teams/50/activities/feeds")).status_code == 401


async def test_a_feed_has_what_happens_in_watched_repositories(world, ann, bob, app, secret):
    await world.deliver(push(app))
    await world.deliver(push(secret))
    path = "/users/bob/activities/feeds"
    assert await kinds(bob, path) == []
    assert (await bob.call("PUT", "/api/v1/repos/ann/app/subscription")).status_code == 200
    await world.deliver(push(app, pusher=BOB, after=ZERO))
    assert await kinds(bob, path) == ["delete_branch", "commit_repo"]
    assert await kinds(bob, f"{path}?only-performed-by=true") == ["delete_branch"]
    assert {one["user_id"] for one in (await ann.get(path)).json()} == {2}


async def test_a_date_limits_a_feed_to_its_day_in_utc(world, ann, app):
    for at in (AT - timedelta(hours=3, minutes=5), AT, AT + timedelta(days=1)):
        new = store.NewActivity(repository_id=app.id, actor_id=1, kind="commit_repo", unit="code")
        async with world.database.transaction() as tx:
            await store.add(tx, new, at)
    shown = (await ann.get(f"{FEED}?date=2026-01-02")).json()
    assert [one["created"] for one in shown] == ["2026-01-02T03:04:05Z"]
    assert len(await kinds(ann, FEED)) == 3


HOSTILE = [
    "2026-1-2",
    "2026-02-30",
    "x",
    "2026-01-02T00:00:00Z",
    "\u0662026-01-02",
    "0000-00-00",
    "9999-12-31",
    "'",
]


@pytest.mark.parametrize("date", HOSTILE)
async def test_a_wrong_date_is_refused_by_name(ann, app, date):
    for path in (FEED, "/users/ann/activities/feeds"):
        answer = await ann.get(f"{path}?date={date}")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "date"


@pytest.mark.parametrize("date", ["0001-01-01", "9999-12-30"])
async def test_the_first_and_last_days_are_dates(ann, app, date):
    assert await kinds(ann, f"{FEED}?date={date}") == []


async def test_a_page_takes_the_same_statements_however_long_it_is(world, ann, app, secret):
    counts = []
    for _ in range(2):
        for repository in (app, secret):
            for event in (push, issue_event, comment_event):
                await world.deliver(event(repository))
        with world.count_statements() as statements:
            assert (await ann.get("/users/ann/activities/feeds")).status_code == 200
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]


async def test_pages_are_complete_and_disjoint(world, ann, app):
    for number in range(1, 8):
        await world.deliver(issue_event(app, number=number))
    pages = [await ann.get(f"{FEED}?page={page}&limit=3") for page in (1, 2, 3, 4)]
    assert {page.headers["x-total-count"] for page in pages} == {"7"}
    contents = [[one["content"][0] for one in page.json()] for page in pages]
    assert contents == [["7", "6", "5"], ["4", "3", "2"], ["1"], []]


async def test_old_activities_are_swept(world, ann, app):
    for days in (399, 401, 900):
        new = store.NewActivity(repository_id=app.id, actor_id=1, kind="commit_repo", unit="code")
        async with world.database.transaction() as tx:
            await store.add(tx, new, now() - timedelta(days=days))
    await world.app.state[PARTS][ActivitySweep].sweep()
    assert len(await kinds(ann, FEED)) == 1
    assert (await ann.get("/users/ann/heatmap")).json() == [], "not of the last 53 weeks"


async def test_a_heatmap_counts_by_quarters_of_an_hour(world, ann, app):
    start = now().replace(minute=15, second=0, microsecond=0) - timedelta(days=3)
    for minutes in (0, 14, 15):
        new = store.NewActivity(repository_id=app.id, actor_id=1, kind="commit_repo", unit="code")
        async with world.database.transaction() as tx:
            await store.add(tx, new, start + timedelta(minutes=minutes))
    first = int(start.timestamp())
    assert (await ann.get("/users/ann/heatmap")).json() == [
        {"timestamp": first, "contributions": 2},
        {"timestamp": first + 900, "contributions": 1},
    ]
