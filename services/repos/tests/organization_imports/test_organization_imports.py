"""Imports of whole organizations from a source that behaves, and from others."""

import asyncio
import json
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from ingot_chassis.errors import Unavailable
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.organization_imports import store
from ingot_repos.organization_imports.jobs.imports import AT_ONCE, MOST_FAILURES
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import Remote, bare_source, status
from ..world import commit, git

NAMES = ["one", "two", "three", "four", "five", "six"]
CREDENTIALS = {"auth_token": "t0ken"}


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"]}


class Source(Remote):
    """A Gitea with one organization. ``api`` may answer a request for its API in another way.

    ``lists`` has other lists by their paths; each has one page.
    """

    def __init__(self, folder):
        super().__init__(folder)
        self.repositories = [{"name": name, "description": f"the {name}", "private": False} for name in NAMES]
        self.api, self.page_size, self.answer = None, 2, self.answer_api
        self.lists = {}
        self.organization = {"username": "there", "visibility": "public"}

    async def answer_api(self, method, target, headers, writer):
        parts = urlsplit(target)
        if not parts.path.startswith("/api/"):
            return None
        if self.api is not None:
            return await self.api(method, target, headers, writer)
        return self.page_of(parts)

    def page_of(self, parts):
        if parts.path in self.lists:
            is_first = parse_qs(parts.query).get("page", ["1"]) == ["1"]
            return answer_of(self.lists[parts.path] if is_first else [])
        if parts.path in ("/api/v1/orgs/there", "/api/v4/groups/there"):
            return answer_of(self.organization)
        if parts.path == "/api/v4/groups/there/projects":
            return answer_of([{"path": "one", "visibility": "public"}])
        if parts.path == "/api/v3/orgs/there/repos":
            return answer_of([{"name": "one", "private": False}, {"name": "two", "private": True}])
        if parts.path != "/api/v1/orgs/there/repos":
            return status("404 Not Found")
        start = (int(parse_qs(parts.query)["page"][0]) - 1) * self.page_size
        return answer_of(self.repositories[start : start + self.page_size])


def answer_of(value):
    body = json.dumps(value).encode()
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture
async def source(tmp_path):
    async with Source(tmp_path / "remote") as source:
        (source.folder / "there").mkdir()
        work = await bare_source(source.folder / "there", tmp_path)
        await commit(work, "README.md", "hello\n")
        await git("push", "-q", "origin", "trunk", cwd=work)
        bare = source.folder / "there" / "source.git"
        for name in NAMES:
            await git("clone", "-q", "--bare", str(bare), str(bare.with_name(f"{name}.git")), cwd=tmp_path)
        yield source


@pytest.fixture
def root(world, ann):
    world.organization(9, "acme")
    change_account(world, 1, admin=True)
    return ann.but(admin=True)


def change_account(world, account_id, **fields):
    accounts = world.identity.accounts
    accounts[account_id] = msgspec.structs.replace(accounts[account_id], **fields)


def form(source, **more):
    site = source.url("x").rpartition("/x")[0]
    return {
        "service": "gitea", "address": site, "source": "there", "organization": "acme", **CREDENTIALS, **more
    }  # fmt: skip


async def begin(root, source, **more):
    """Begin an import, and return its path."""
    answer = await root.post("/admin/imports", form(source, **more))
    assert answer.status_code == 202, answer.text
    return f"/admin/imports/{answer.json()['id']}"


async def make_due(world):
    """Let jobs that wait run now, and the leases of killed workers end."""
    table = world.database.metadata.tables["job"]
    times = {"run_at": table.c.created_at, "lease_until": table.c.created_at}
    async with world.database.transaction() as tx:
        await tx.execute(table.update().where(table.c.state.in_(("waiting", "running"))).values(**times))


async def kill_step(world, turns):
    """Cancel a step of the workers after that many turns of the event loop."""
    await make_due(world)
    task = asyncio.create_task(world.components.import_workers.step())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def work(world, rounds):
    for _ in range(rounds):
        await make_due(world)
        await world.components.import_workers.step()


async def listed(root, path):
    return {one["name"]: one for one in (await root.get(f"{path}/repositories")).json()}


async def test_all_repositories_of_an_organization_come(world, root, source):
    path = await begin(root, source)
    await work(world, 4)
    state = (await root.get(path)).json()
    assert (state["status"], state["organization"], state["source"]) == ("done", "acme", "there")
    assert (state["repositories"], state["is_listed"], state["error"]) == ({"done": 6}, True, "")
    repositories = await listed(root, path)
    assert [*repositories] == NAMES
    assert {(one["status"], one["percent"]) for one in repositories.values()} == {("done", 100)}
    got = (await root.get("/repos/acme/three")).json()
    assert (got["id"], got["description"]) == (repositories["three"]["id"], "the three")
    assert (await root.get("/repos/acme/six/raw/README.md")).text == "hello\n"
    owners = {one.name: one.owner_id for one in world.identity.ownerships.values()}
    assert owners == dict.fromkeys(NAMES, 9)
    [row] = await world.rows("organization_import")
    assert row.sealed is None
    assert {row.sealed for row in await world.rows("remote")} == {None}
    assert (await root.get("/admin/imports")).json() == [state]


async def test_all_repositories_get_the_table_of_people(world, root, bob, source):
    await bob.create("mine")
    await begin(root, source, issues=True, repositories=["one", "two"], people={"Cat": "bob"})
    await work(world, 2)
    assert [row.people for row in await world.rows("import_source")] == ['{"cat":2}'] * 2


async def test_a_few_repositories_are_imported_at_once(world, root, source):
    path = await begin(root, source, issues=True)  # they wait for issues, which read nothing here
    await work(world, 3)
    statuses = [one["status"] for one in (await listed(root, path)).values()]
    assert statuses == ["running"] * AT_ONCE + ["waiting"] * (len(NAMES) - AT_ONCE)
    first = (await listed(root, path))["one"]
    body = {"is_refused": True}
    page = await root.call("POST", f"/internal/imports/{first['id']}/pages", body, peer="issues")
    assert page.json()["state"] == "ended"
    await work(world, 2)
    failed = (await listed(root, path))["one"]
    assert (failed["status"], failed["error"]) == ("failed", REASON_TEXTS["refused"])
    assert (await root.get(path)).json()["repositories"] == {"failed": 1, "running": 4, "waiting": 1}


@pytest.mark.parametrize("turns", range(0, 150, 10))
async def test_a_killed_import_goes_on_and_nothing_is_there_twice(world, root, source, turns):
    path = await begin(root, source)
    for _ in range(2):
        await kill_step(world, turns)
    await work(world, 6)
    assert (await root.get(path)).json()["repositories"] == {"done": 6}
    assert sorted(row.name for row in await world.rows("repository")) == sorted(NAMES)
    assert sorted(one.name for one in world.identity.ownerships.values()) == sorted(NAMES)


async def test_globs_choose_repositories_and_names_are_not_taken_twice(world, root, source):
    await root.post("/orgs/acme/repos", {"name": "Two"})
    source.repositories += [{"name": "..", "private": True}, {"name": "o" * 300, "description": None}]
    path = await begin(root, source, repositories=["t*", "ONE", "..", "o??*"], private=True)
    await work(world, 4)
    repositories = await listed(root, path)
    assert [*repositories] == ["one", "two", "three", "..", "o" * 255]
    errors = {one["name"][:3]: one["error"] for one in repositories.values() if one["status"] == "failed"}
    assert errors == {
        "two": "the organization has a repository of this name already",
        "..": "no repository may have this name here",
        "ooo": "no repository may have this name here",
    }
    assert (await root.get("/repos/acme/one")).json()["private"] is True
    assert (await root.get(path)).json()["status"] == "done"


async def test_a_dry_run_creates_nothing(world, root, source):
    await root.post("/orgs/acme/repos", {"name": "Two"})
    answer = await root.post("/admin/imports", form(source, dry_run=True, repositories=["*o*"]))
    assert (answer.status_code, answer.json()) == (
        200,
        {"repositories": ["one", "two", "four"], "taken": ["two"], "excluded": 3, "is_complete": True},
    )
    assert await world.rows("organization_import") == []


async def test_an_organization_that_is_missing_is_created(world, root, source):
    path = await begin(root, source, organization="", repositories=["one"])
    await work(world, 3)
    state = (await root.get(path)).json()
    assert (state["organization"], state["repositories"]) == ("there", {"done": 1})
    assert (await root.get("/repos/there/one/raw/README.md")).text == "hello\n"
    again = await begin(root, source, organization="there", repositories=["two"])
    await work(world, 3)
    assert (await root.get(again)).json()["repositories"] == {"done": 1}


@pytest.mark.parametrize("globs", [["*"], ["six"], ["none"]])
async def test_a_source_that_repeats_its_only_page_is_read_to_its_end(world, root, source, globs):
    async def whole(_method, target, _headers, _writer):
        return source.page_of(urlsplit(target)._replace(query="page=1"))

    source.api, source.page_size = whole, len(NAMES)
    fields = {"service": "gogs", "repositories": globs}
    matching = NAMES if globs == ["*"] else [name for name in NAMES if name in globs]
    dry = (await root.post("/admin/imports", form(source, **fields, dry_run=True))).json()
    assert (dry["repositories"], dry["is_complete"]) == (matching, True)
    assert dry["excluded"] == len(NAMES) - len(matching)
    path = await begin(root, source, **fields)
    await work(world, 4)
    state = (await root.get(path)).json()
    assert (state["status"], state["is_listed"]) == ("done", True)
    assert [*await listed(root, path)] == matching


async def test_a_source_that_never_ends_fails_the_import(world, root, source, monkeypatch):
    monkeypatch.setattr("ingot_remotes.forges.organizations.MOST_REPOSITORIES", 7)

    async def endless(_method, target, _headers, _writer):
        parts = urlsplit(target)
        name = f"r{parse_qs(parts.query).get('page', ['x'])[0]}"
        return answer_of([{"name": name}]) if parts.path.endswith("/repos") else source.page_of(parts)

    source.api = endless
    path = await begin(root, source, repositories=["none"])
    await work(world, 10)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["too-many"])
    dry = await root.post("/admin/imports", form(source, repositories=["none"], dry_run=True))
    assert (dry.status_code, dry.json()["errors"][0]["code"]) == (422, "too-many")


@pytest.mark.parametrize(
    ("service", "there", "here"),
    [
        ("gitea", {"visibility": "public"}, "public"),
        ("gitea", {"visibility": "limited"}, "limited"),
        ("gitea", {"visibility": "private"}, "private"),
        ("forgejo", {}, "private"),
        ("gitea", {"visibility": "new"}, "private"),
        ("gogs", {}, "public"),
        ("gitlab", {"visibility": "public"}, "public"),
        ("gitlab", {"visibility": "internal"}, "limited"),
        ("gitlab", {"visibility": "private"}, "private"),
        ("gitlab", {}, "private"),
    ],
)
async def test_what_a_source_hides_is_hidden_here(world, root, source, service, there, here):
    source.organization = there
    for organization in ("fresh", "acme"):  # acme is public
        path = await begin(root, source, service=service, organization=organization, repositories=["one"])
        await work(world, 4)
        assert (await root.get(path)).json()["repositories"] == {"done": 1}
    accounts = {account.login: account.visibility for account in world.identity.accounts.values()}
    assert (accounts["fresh"], accounts["acme"]) == (here, "public")
    private = {
        owner: (await root.get(f"/repos/{owner}/one")).json()["private"] for owner in ("fresh", "acme")
    }
    assert private == {"fresh": False, "acme": here != "public"}


async def test_repositories_of_github_are_as_private_as_there(world, root, source):
    path = await begin(root, source, service="github", organization="fresh")
    await work(world, 3)
    assert (await root.get(path)).json()["repositories"] == {"done": 2}
    for name, is_private in (("one", False), ("two", True)):
        assert (await root.get(f"/repos/fresh/{name}")).json()["private"] is is_private


async def test_no_organization_is_created_for_a_source_that_fails(world, root, source):
    async def down(*_request):
        return status("502 Bad Gateway")

    source.api = down
    answer = await root.post("/admin/imports", form(source, organization="fresh"))
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "unreachable")
    assert "fresh" not in [account.login for account in world.identity.accounts.values()]


async def test_a_dry_run_creates_no_organization(world, root, source):
    answer = await root.post("/admin/imports", form(source, organization="fresh", dry_run=True))
    assert (answer.status_code, answer.json()["taken"]) == (200, [])
    assert "fresh" not in [account.login for account in world.identity.accounts.values()]


async def test_a_cancelled_import_stops_and_keeps_what_is_here(world, root, source):
    path = await begin(root, source, issues=True)
    await work(world, 2)
    assert (await root.call("DELETE", f"/api/v1{path}")).status_code == 204
    await work(world, 3)
    state = (await root.get(path)).json()
    assert (state["status"], state["repositories"]) == ("cancelled", {"cancelled": 4, "waiting": 2})
    assert [row.sealed for row in await world.rows("organization_import")] == [None]
    assert {row.sealed for row in await world.rows("remote")} == {None}
    assert (await root.call("DELETE", f"/api/v1{path}")).status_code == 409
    assert (await root.get("/repos/acme/one/raw/README.md")).text == "hello\n"


async def test_a_cancelled_import_records_the_owner_of_what_is_here(world, root, source, monkeypatch):
    async def unavailable(*_arguments):
        raise Unavailable("identity is away")

    path = await begin(root, source)
    with monkeypatch.context() as away:
        away.setattr(HttpIdentity, "own", unavailable)
        await work(world, 4)
    here = {row.id for row in await world.rows("repository")}
    assert (len(here), world.identity.ownerships) == (AT_ONCE, {})
    assert (await root.call("DELETE", f"/api/v1{path}")).status_code == 204
    await work(world, 2)
    assert world.identity.ownerships.keys() == here


async def test_an_import_is_cancelled_while_one_of_its_repositories_ends(world, root, source, monkeypatch):
    path = await begin(root, source, issues=True)
    await work(world, 3)
    list_unended = store.list_unended

    async def late(tx, import_id):
        rows = await list_unended(tx, import_id)
        migration = world.database.metadata.tables["migration"]
        first = migration.c.repository_id == rows[0].repository_id
        await tx.execute(migration.update().where(first).values(state="done"))
        return rows

    monkeypatch.setattr(store, "list_unended", late)
    assert (await root.call("DELETE", f"/api/v1{path}")).status_code == 204
    state = (await root.get(path)).json()
    counts = {"done": 1, "cancelled": 3, "waiting": 2}
    assert (state["status"], state["repositories"]) == ("cancelled", counts)


async def test_an_organization_that_is_deleted_meanwhile_ends_the_import(world, root, source):
    path = await begin(root, source)
    del world.identity.accounts[9]
    await work(world, 4)
    [row] = await world.rows("organization_import")
    assert (row.state, row.reason) == ("failed", "gone")
    assert await world.rows("repository") == []
    listed = await root.get(f"{path}/repositories")
    assert [one["status"] for one in listed.json()] == ["failed"] * AT_ONCE + ["waiting"] * 2


async def test_a_repository_that_another_worker_created_is_not_refused(world, root, source, monkeypatch):
    path = await begin(root, source, issues=True)
    await work(world, 3)
    async with world.database.read() as db:
        old = await store.list_in_state(db, 1, store.ListedState.BEGUN, limit=1)
    list_in_state = store.list_in_state

    async def late(db, import_id, state, **limit):
        return old if state == "listed" else await list_in_state(db, import_id, state, **limit)

    monkeypatch.setattr(store, "list_in_state", late)
    await work(world, 1)
    assert (await root.get(path)).json()["repositories"] == {"running": 4, "waiting": 2}


@pytest.mark.parametrize("change", [{"admin": False}, {"active": False}, None])
async def test_an_import_ends_with_the_rights_of_who_began_it(world, root, source, change):
    path = await begin(root, source, issues=True)
    await work(world, 3)
    first = (await listed(root, path))["one"]
    if change is None:
        del world.identity.accounts[1]
    else:
        change_account(world, 1, **change)
    body = {"is_refused": True}
    await root.call("POST", f"/internal/imports/{first['id']}/pages", body, peer="issues")
    await work(world, 2)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"].rpartition("longer ")[2]) == (
        "failed", "an administrator who may sign in"
    )  # fmt: skip
    assert state["repositories"] == {"failed": 1, "running": 3, "waiting": 2}


async def test_a_repository_that_is_deleted_meanwhile_is_not_imported_again(world, root, source):
    path = await begin(root, source, repositories=["one"])
    await work(world, 2)
    assert (await root.call("DELETE", "/api/v1/repos/acme/one")).status_code == 204
    await work(world, 2)
    assert (await root.get(path)).json()["repositories"] == {"deleted": 1}
    assert (await root.get("/repos/acme/one")).status_code == 404


async def test_an_import_waits_for_identity(world, root, source):
    path = await begin(root, source, repositories=["one"])
    await work(world, 0)
    for _ in range(4):
        await world.components.import_workers.step()
        world.identity.unavailable = True
    world.identity.unavailable = False
    await work(world, 3)
    assert (await root.get(path)).json()["status"] == "done"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("401 Unauthorized"), "unauthorized"),
        (status("404 Not Found"), "not-found"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "forge-answer"),
        (answer_of([{"id": 7}]), "forge-answer"),
        (status("302 Found", "Location: http://10.0.0.1/api/v1/orgs/there/repos"), "address"),
    ],
)
async def test_a_bad_source_ends_the_import_with_a_reason(world, root, source, answer, reason):
    async def bad(*_request):
        return answer

    source.api = bad
    path = await begin(root, source)
    await work(world, 1)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS[reason])
    assert [row.sealed for row in await world.rows("organization_import")] == [None]
    dry = await root.post("/admin/imports", form(source, dry_run=True))
    assert (dry.status_code, dry.json()["errors"][0]["code"]) == (422, reason)


async def test_a_source_that_is_down_is_asked_again_and_a_limit_is_no_failure(world, root, source):
    answers = [status("502 Bad Gateway")] * MOST_FAILURES + [status("429 Too Many", "Retry-After: 7")] * 3

    async def late(_method, target, _headers, _writer):
        return answers.pop() if answers else source.page_of(urlsplit(target))

    source.api = late
    path = await begin(root, source, repositories=["one"])
    await work(world, MOST_FAILURES + 5)
    assert (await root.get(path)).json()["status"] == "done"


async def test_a_source_that_is_down_for_long_ends_the_import(world, root, source):
    async def down(*_request):
        return status("502 Bad Gateway")

    source.api = down
    path = await begin(root, source)
    await work(world, MOST_FAILURES + 1)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["unreachable"])


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"service": "onedev"}, "service"),
        ({"service": ""}, "service"),
        ({"source": "a/b"}, "source"),
        ({"source": "../x"}, "source"),
        ({"source": ""}, "source"),
        ({"service": "gitlab", "source": "a/../b"}, "source"),
        ({"address": "file:///etc"}, "address"),
        ({"address": "git://127.0.0.1"}, "address"),
        ({"address": "http://10.0.0.1"}, "address"),
        ({"address": "http://bob:pw@127.0.0.1"}, "address"),
        ({"address": ""}, "address"),
        ({"organization": "no body"}, "organization"),
        ({"organization": "bob"}, "organization"),
        ({"repositories": ["x"] * 101}, "repositories"),
        ({"repositories": [""]}, "repositories"),
        ({"people": {"cat": "nobody"}}, "people"),
        ({"people_csv": "cat"}, "people_csv"),
        ({"auth_token": "a\nb"}, "auth_token"),
    ],
)
async def test_bad_input_names_the_field_and_makes_nothing(world, root, bob, source, fields, field):
    await bob.create("known")
    answer = await root.post("/admin/imports", form(source) | fields)
    assert (answer.status_code, answer.json()["errors"][0]["field"].partition("[")[0]) == (422, field)
    assert await world.rows("organization_import") == []


async def test_only_administrators_see_and_touch_imports(world, root, bob, source):
    path = await begin(root, source)
    for person in (bob, world.user(0, "")):
        assert (await person.post("/admin/imports", form(source))).status_code in (401, 403)
        for method, target in (("GET", path), ("DELETE", path), ("GET", "/admin/imports")):
            assert (await person.call(method, f"/api/v1{target}")).status_code in (401, 403)
    for method in ("GET", "DELETE"):
        for unknown in ("99", "0", str(2**63)):
            assert (await root.call(method, f"/api/v1/admin/imports/{unknown}")).status_code == 404
    assert "t0ken" not in (await root.get(path)).text
