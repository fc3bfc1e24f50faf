"""Events are bounded, whatever is pushed or stored, and count the parts that they leave out."""

from dataclasses import replace

import msgspec
import pygit2
import pytest

from ingot_contracts.limits import (
    BODY_CHARACTERS,
    EVENT_BODY_BYTES,
    EVENT_BYTES,
    EVENT_COMMITS,
    EVENT_MESSAGE_BYTES,
    EVENT_NAME_BYTES,
    EVENT_PATH_BYTES,
    EVENT_TEXT_BYTES,
    encoded_bytes,
)
from ingot_git.history.push_changes import read_push_changes
from ingot_repos.access.rules.grants import MOST_GRANTS
from ingot_repos.catalog.store.tables import collaboration, team_grant
from ingot_repos.commits.rules.excerpts import PUSH_EVENT_BOUNDS

from .world import commit, git, work_tree

CONTROL = "\x01"
ADDRESS = "https://x.io/" + "\U0001f600" * 2_000
"""Six bytes in JSON."""


@pytest.fixture
async def work(ann, tmp_path):
    await ann.create("app")
    return await work_tree(tmp_path)


async def push(work, git_url, person, *what):
    return await git("push", "-q", f"{git_url}/ann/app.git", *what, cwd=work, person=person)


async def events(world, kind="push"):
    """The events of that kind, all of which can be sent."""
    for row in await world.rows("outbox"):
        assert len(row.payload) < EVENT_BYTES, row.type
    return await world.events(kind)


def write_commit(work, *, message="x", name="Ann", email="ann@example.org", tree=None, parents=()):
    """A commit with texts that no command line takes; its id."""
    repo = pygit2.Repository(str(work))
    who = f"{name} <{email}> 1700000000 +0000"
    lines = [f"tree {tree or repo.TreeBuilder().write()}", *(f"parent {one}" for one in parents)]
    lines += [f"author {who}", f"committer {who}", "", message]
    oid = str(repo.odb.write(pygit2.enums.ObjectType.COMMIT, "\n".join(lines).encode()))
    repo.references.create("refs/heads/master", oid, force=True)
    return oid


def write_tree(work, names):
    """A tree of empty files of these names; its id."""
    repo = pygit2.Repository(str(work))
    builder, blob = repo.TreeBuilder(), repo.create_blob(b"")
    for name in names:
        builder.insert(name, blob, 0o100644)
    return builder.write()


async def test_a_commit_with_a_message_of_five_megabytes(world, ann, work, git_url):
    (work / "message").write_text("subject\n\n" + "m" * 5_000_000)
    await git("commit", "-q", "--allow-empty", "-F", "message", cwd=work)
    await push(work, git_url, ann, "master")
    (event,) = await events(world)
    (sent,) = event["commits"]
    assert sent["message"].startswith("subject\n\nmmm")
    assert encoded_bytes(sent["message"]) == EVENT_MESSAGE_BYTES
    whole = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]["message"]
    assert len(whole) >= 5_000_009
    assert event["omitted"] == {"characters": len(whole) - len(sent["message"])}


@pytest.mark.parametrize(("files", "length"), [(1_000, 200), (5_000, 60)])
async def test_a_push_of_many_files(world, ann, work, git_url, files, length):
    for number in range(files):
        (work / f"{number:0{length}}").touch()
    await commit(work, "last")
    await push(work, git_url, ann, "master")
    (event,) = await events(world)
    added = event["commits"][0]["added"]
    size = sum(encoded_bytes(path) + 3 for path in added)
    assert size <= EVENT_PATH_BYTES
    omitted = event.get("omitted", {}).get("paths", 0)
    assert len(added) + omitted == files + 1
    assert (omitted > 0) == ((files + 1) * (length + 3) > EVENT_PATH_BYTES)
    if omitted:
        assert size > EVENT_PATH_BYTES - length - 3


async def test_the_paths_of_all_commits_share_one_bound(world, ann, work, git_url):
    last = None
    for number in range(4):
        tree = write_tree(work, [f"{number}{name:0200}" for name in range(1_000)])
        last = write_commit(work, tree=tree, parents=[last] if last else [])
    await push(work, git_url, ann, "master")
    (event,) = await events(world)
    paths = sum(len(one["added"]) + len(one["removed"]) for one in event["commits"])
    assert paths + event["omitted"]["paths"] == 7_000
    assert EVENT_PATH_BYTES - 300 < paths * 204 <= EVENT_PATH_BYTES


async def test_one_long_path_does_not_push_out_the_others(world, ann, work, git_url):
    repo = pygit2.Repository(str(work))
    inner = write_tree(work, ["x"])
    for _ in range(30):
        builder = repo.TreeBuilder()
        builder.insert("d" * 200, inner, 0o040000)
        inner = builder.write()
    builder = repo.TreeBuilder()
    builder.insert("deep", inner, 0o040000)
    builder.insert("short", repo.create_blob(b""), 0o100644)
    write_commit(work, tree=builder.write())
    await push(work, git_url, ann, "master")
    (event,) = await events(world)
    assert event["commits"][0]["added"] == ["short"]
    assert event["omitted"] == {"paths": 1}


async def test_an_author_whose_name_is_a_megabyte(world, ann, work, git_url):
    write_commit(work, name="n" * 1_000_000, email="e" * 1_000_000)
    await push(work, git_url, ann, "master")
    (event,) = await events(world)
    (sent,) = event["commits"]
    for who in (sent["author"], sent["committer"]):
        assert who == {"name": "n" * EVENT_NAME_BYTES, "email": "e" * EVENT_NAME_BYTES, "username": ""}
    assert event["omitted"] == {"characters": 4 * (1_000_000 - EVENT_NAME_BYTES)}


async def test_events_carry_whole_what_fits(world, ann, work, git_url):
    await commit(work, "ü.txt", message="subject\n\nbody")
    await push(work, git_url, ann, "master")
    (event,) = await events(world)
    assert (event["commits"][0]["message"], event["commits"][0]["added"]) == ("subject\n\nbody\n", ["ü.txt"])
    assert not event.get("omitted")


async def test_the_largest_event_of_a_push(world, ann, git_url, tmp_path):
    """Everything at once, and each character as long as it gets in JSON."""
    world.identity.add_account(
        9,
        "o" * 40,
        kind="organization",
        full_name=CONTROL * 100,
        email=CONTROL * 254,
        avatar_url=CONTROL * 500,
    )
    world.identity.join(1, 9, owner=True)
    owner, name = "o" * 40, "r" * 100
    texts = {"description": CONTROL * 255, "website": ADDRESS[:255]}
    creation = await ann.post(f"/orgs/{owner}/repos", {"name": name, **texts})
    assert creation.status_code == 201, creation.text
    work, last = await work_tree(tmp_path), None
    for number in range(EVENT_COMMITS + 5):
        tree = write_tree(work, [f"{number}" + CONTROL * 200 + f"{file}" for file in range(300)])
        last = write_commit(
            work, message=CONTROL * 20_000, name=f"a{CONTROL * 5_000}a", email=f"a{CONTROL * 5_000}a",
            tree=tree, parents=[last] if last else [],
        )  # fmt: skip
    ref = "refs/heads/" + "/".join(['"' * 240] * 4)
    await git("push", "-q", f"{git_url}/{owner}/{name}.git", f"master:{ref}", cwd=work, person=ann)
    (event,) = await events(world)
    assert event["ref"] == ref
    assert (len(event["commits"]), event["total_commits"]) == (EVENT_COMMITS, EVENT_COMMITS + 5)
    assert len(msgspec.json.encode(event)) > EVENT_PATH_BYTES + EVENT_COMMITS * EVENT_MESSAGE_BYTES
    listed = sum(len(one["added"]) + len(one["removed"]) for one in event["commits"])
    assert listed + event["omitted"]["paths"] == 600 * EVENT_COMMITS
    characters = sum(
        len(one["message"]) + sum(len(who["name"]) + len(who["email"]) for who in (one["author"],
                                                                                   one["committer"]))
        for one in event["commits"]
    )  # fmt: skip
    assert characters + event["omitted"]["characters"] == EVENT_COMMITS * (20_000 + 4 * 5_002)


async def test_a_status_of_the_largest_commit(world, ann, work, git_url):
    tree = write_tree(work, [f"{number}" + CONTROL * 200 for number in range(600)])
    write_commit(work, message=CONTROL * 20_000, tree=tree)
    await push(work, git_url, ann, "master")
    assert (await ann.post("/repos/ann/app/statuses/master", {"state": "success"})).status_code == 201
    (event,) = await events(world, "repos.status.created.v1")
    commit, omitted = event["commit"], event["omitted"]
    assert encoded_bytes(commit["message"]) <= EVENT_MESSAGE_BYTES
    assert len(commit["message"]) + omitted["characters"] == 20_000
    assert 0 < len(commit["added"]) < 600 == len(commit["added"]) + omitted["paths"]


async def test_the_refs_of_one_push_share_the_room_for_commits(world, ann, work, git_url):
    for number in range(3):
        await git("checkout", "-q", "--orphan", f"b{number}", cwd=work)
        await commit(work, "a.txt", message="m" * 600)
    await push(work, git_url, ann, "b0", "b1", "b2")
    sent_events = await events(world)
    assert [len(event["commits"]) for event in sent_events] == [1, 1, 1]
    bounds, names = replace(PUSH_EVENT_BOUNDS, texts=1_000), [event["ref"] for event in sent_events]
    moved = await world.components.storage.call(
        sent_events[0]["repository"]["id"],
        lambda repo: read_push_changes(repo, {}, names, "b0", bounds).moved,
    )
    assert [(len(one.commits), one.total) for one in moved] == [(1, 1), (1, 1), (0, 1)]


async def test_the_largest_release(world, ann):
    await ann.create("app", auto_init=True)
    texts = {"name": CONTROL * 255, "body": CONTROL * BODY_CHARACTERS}
    creation = await ann.post("/repos/ann/app/releases", {"tag_name": "ü" * 120, **texts})
    assert creation.status_code == 201, creation.text
    assert creation.json()["body"] == texts["body"]
    path = f"/api/v1/repos/ann/app/releases/{creation.json()['id']}"
    assert (await ann.call("PATCH", path, {"body": "ü" * BODY_CHARACTERS})).status_code == 200
    assert (await ann.call("PATCH", path, {"body": "short"})).status_code == 200
    published, edited, short = await events(world, "release")
    for event, character in ((published, CONTROL), (edited, "ü")):
        body = event["release"]["body"]
        assert body == character * len(body)
        assert EVENT_BODY_BYTES - 6 < encoded_bytes(body) <= EVENT_BODY_BYTES
        assert event["omitted"] == {"characters": BODY_CHARACTERS - len(body)}
    assert (short["release"]["body"], short.get("omitted", {})) == ("short", {})


async def test_the_largest_status(world, ann):
    creation = await ann.create("app", auto_init=True, description=CONTROL * 255, website=ADDRESS[:255])
    texts = {"target_url": ADDRESS[:2_000], "description": CONTROL * 2_000, "context": CONTROL * 255}
    answer = await ann.post("/repos/ann/app/statuses/master", {"state": "success", **texts})
    assert answer.status_code == 201, answer.text
    (event,) = await events(world, "status")
    assert event["repository"]["id"] == creation["id"]


async def test_the_largest_event_of_access(world, ann, bob):
    """A repository lets in no more than an event can name, and those who are in stay as they are."""
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True)
    for team in (51, 52):
        world.identity.add_team(team, 9)
    repository_id = (await ann.post("/orgs/acme/repos", {"name": "app"})).json()["id"]
    at = (await world.rows("repository"))[0].created_at
    ids = [2**63 - 1 - number for number in range(MOST_GRANTS - 1)]
    async with world.database.transaction() as tx:
        for table, column, more in (
            (collaboration, "user_id", {"mode": "read", "created_at": at}),
            (team_grant, "team_id", {}),
        ):
            rows = [{"repository_id": repository_id, column: id_, **more} for id_ in ids]
            await tx.execute(table.insert(), rows)
    world.user(3, "cid")
    bobs, cids = (f"/api/v1/repos/acme/app/collaborators/{name}" for name in ("bob", "cid"))
    team, other = (f"/api/v1/teams/{number}/repos/acme/app" for number in (51, 52))
    for path, status in ((bobs, 204), (cids, 403), (bobs, 204), (team, 204), (other, 403), (team, 204)):
        answer = await ann.call("PUT", path, {})
        assert answer.status_code == status, (path, answer.text)
    *_, event = await events(world, "access")
    assert (len(event["collaborators"]), len(event["teams"])) == (MOST_GRANTS, MOST_GRANTS)
    assert (2 in event["collaborators"], 3 in event["collaborators"]) == (True, False)
    assert (51 in event["teams"], 52 in event["teams"]) == (True, False)


async def test_a_page_of_branches_cuts_texts_that_one_branch_shows_whole(ann, work, git_url):
    write_commit(work, message="m" * 2_000_000, name="n" * 1_000_000)
    names = [f"b{number}" for number in range(10)]
    await push(work, git_url, ann, *(f"master:refs/heads/{name}" for name in names))
    page = await ann.get("/repos/ann/app/branches")
    assert [one["name"] for one in page.json()] == names
    for one in page.json():
        assert one["commit"]["message"] == "m" * EVENT_TEXT_BYTES
        assert one["commit"]["author"]["name"] == "n" * EVENT_NAME_BYTES
    assert len(page.content) < 10 * (EVENT_TEXT_BYTES + 5_000)
    shown = (await ann.get("/repos/ann/app/branches/b0")).json()["commit"]
    assert (len(shown["message"]), len(shown["author"]["name"])) == (2_000_000, 1_000_000)


LISTS = {
    "commits": "m" * EVENT_TEXT_BYTES,
    "compare/v0...master": "m" * EVENT_TEXT_BYTES,
    "tags": "m" * EVENT_TEXT_BYTES,
    "contents-ext?includes=commit_message": "m" * EVENT_NAME_BYTES,
    "contents-ext?includes=commit_message&page=1": "m" * EVENT_NAME_BYTES,
}
MANY = 20


def texts_of(value):
    """All messages in an answer."""
    if isinstance(value, dict):
        own = [text for name, text in value.items() if name in ("message", "last_commit_message")]
        return own + [text for one in value.values() for text in texts_of(one)]
    return [text for one in value for text in texts_of(one)] if isinstance(value, list) else []


@pytest.fixture
async def long_history(ann, work, git_url):
    """Commits of 2 MB of text that add a file each; the last one, with its tags."""
    oid, tags = write_commit(work), []
    for number in range(MANY):
        tree = write_tree(work, [f"f{each}" for each in range(number + 1)])
        oid = write_commit(work, message="m" * 2_000_000, tree=tree, parents=[oid])
        tags.append(f"{oid}:refs/tags/v{number}")
    await push(work, git_url, ann, "master", *tags)
    return oid


async def test_lists_cut_the_messages_of_many_commits(ann, long_history):
    """Those for people, and that for issues."""
    for path, message in LISTS.items():
        answer = await ann.get(f"/repos/ann/app/{path}")
        texts = texts_of(answer.json())
        assert (path, len(texts) >= MANY - 1, {*texts} - {"x"}) == (path, True, {message})
        assert len(answer.content) < MANY * (EVENT_TEXT_BYTES + 5_000), path
    answer = await ann.internal("GET", f"1/commits?head={long_history}&limit=1000")
    assert [one["message"] for one in answer.json()["commits"]] == ["m" * EVENT_TEXT_BYTES] * MANY + ["x"]
