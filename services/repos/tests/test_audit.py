"""The audit log of repos: changes of rights, protections and owners, with their actors."""

from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_chassis.db.audit import list_entries
from ingot_contracts.identity.invitations import LinkedInvitation

from .access.test_deploy_keys import ed25519
from .imports.test_repeats import done
from .imports.test_sources import copied, migrate, source  # noqa: F401 - fixtures
from .world import git

REPOSITORY = "/repos/acme/app"
BRANCH, TAG, KEYS = (f"{REPOSITORY}/{name}" for name in ("branch_protections", "tag_protections", "keys"))

JOURNEY = [
    ("PUT", f"{REPOSITORY}/collaborators/bob", {"permission": "write"}, "collaborator.add", {"user": "bob"}),
    (
        "POST",
        f"{REPOSITORY}/collaborators",
        {"email": "x@x.io"},
        "collaborator.invite",
        {"id": 1, "email": "x@x.io", "permission": "write"},
    ),
    ("DELETE", f"{REPOSITORY}/invitations/1", None, "collaborator.withdraw_invitation", {"id": 1}),
    ("DELETE", f"{REPOSITORY}/collaborators/bob", None, "collaborator.remove", {"user": "bob"}),
    ("DELETE", f"{REPOSITORY}/collaborators/bob", None, "", {}),
    ("PUT", f"{REPOSITORY}/teams/devs", None, "team.add", {"team": "devs"}),
    ("DELETE", f"{REPOSITORY}/teams/devs", None, "team.remove", {"team": "devs"}),
    ("POST", KEYS, {"title": "ci", "key": ed25519(1)}, "deploy_key.add", {"read_only": True}),
    ("DELETE", f"{KEYS}/1", None, "deploy_key.delete", {"id": 1}),
    ("DELETE", f"{KEYS}/1", None, "", {}),
    ("POST", BRANCH, {"rule_name": "main"}, "branch_protection.create", {"rule": "main"}),
    ("PATCH", f"{BRANCH}/main", {"enable_push": True}, "branch_protection.edit", {"rule": "main"}),
    ("DELETE", f"{BRANCH}/main", None, "branch_protection.delete", {"rule": "main"}),
    ("POST", TAG, {"name_pattern": "v*"}, "tag_protection.create", {"pattern": "v*"}),
    ("PATCH", f"{TAG}/1", {"name_pattern": "w*"}, "tag_protection.edit", {"fields": ["name_pattern"]}),
    ("DELETE", f"{TAG}/1", None, "tag_protection.delete", {"id": 1}),
    ("POST", f"{REPOSITORY}/export", None, "repository.export", {}),
    ("PATCH", REPOSITORY, {"private": True}, "repository.edit", {"fields": ["private"]}),
    ("POST", f"{REPOSITORY}/transfer", {"new_owner": "bob"}, "repository.transfer", {"state": "waiting"}),
    ("DELETE", REPOSITORY, None, "repository.delete", {}),
]


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"]}


@pytest.fixture
async def app(world, ann, bob):
    """A repository of an organization that ann owns."""
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(51, 9, "write", name="devs")
    assert (await ann.post("/orgs/acme/repos", {"name": "app"})).status_code == 201


async def entries(world):
    async with world.database.read() as db:
        return await list_entries(db, service="repos", limit=100)


async def test_each_change_is_noted_and_nothing_else(world, ann, bob, app):
    for method, path, body, action, details in JOURNEY:
        before = len(await entries(world))
        answer = await ann.call(method, f"/api/v1{path}", body, headers={"x-forwarded-for": "192.0.2.7"})
        assert answer.is_success, (path, answer.text)
        newest = await entries(world)
        assert len(newest) - before == bool(action), path
        if action:
            entry = newest[0]
            assert (entry.action, entry.actor, entry.address) == (action, "ann", "192.0.2.7")
            assert entry.subject == "repository acme/app"
            assert details.items() <= entry.details.items()


async def test_an_accepted_invitation_is_noted(world, ann, bob, app):
    repository_id = (await ann.get(REPOSITORY)).json()["id"]
    world.identity.invitations["secret"] = LinkedInvitation(
        kind="repository", target="the repository acme/app", path="/acme/app", inviter_id=1, inviter="ann",
        repository_id=repository_id, permission="read", expires_at=now() + timedelta(days=1),
    )  # fmt: skip
    accepted = await bob.call("POST", "/internal/invitations", {"code": "secret"}, peer="web")
    assert accepted.status_code == 200, accepted.text
    entry = (await entries(world))[0]
    assert (entry.action, entry.actor, entry.subject) == (
        "collaborator.accept_invitation", "bob", "repository acme/app"
    )  # fmt: skip
    assert entry.details == {"by": "ann", "permission": "read"}


async def test_accepting_and_rejecting_a_transfer_is_noted(world, ann, bob):
    for name in ("one", "two"):
        await ann.create(name)
        await ann.post(f"/repos/ann/{name}/transfer", {"new_owner": "bob"})
    assert (await bob.post("/repos/ann/one/transfer/accept")).status_code == 202
    assert (await bob.post("/repos/ann/two/transfer/reject")).status_code == 200
    noted = [(entry.actor, entry.subject, entry.details["state"]) for entry in (await entries(world))[:2]]
    assert noted == [("bob", "repository ann/two", "rejected"), ("bob", "repository ann/one", "done")]


async def test_asking_for_a_new_parent_and_answering_is_noted(world, ann, bob):
    await ann.create("one")
    await bob.post("/repos/ann/one/forks")
    await world.components.workers.step()
    for answer, status in (("reject", 200), ("accept", 202)):
        assert (await ann.post("/repos/ann/one/reparent", {"new_owner": "bob"})).status_code == 202
        assert (await bob.post(f"/repos/ann/one/reparent/{answer}")).status_code == status
    newest = (await entries(world))[:4]
    assert {(entry.action, entry.subject) for entry in newest} == {
        ("repository.reparent", "repository ann/one")
    }
    noted = [(entry.actor, entry.details["state"]) for entry in newest]
    assert noted == [("bob", "done"), ("ann", "waiting"), ("bob", "rejected"), ("ann", "waiting")]


async def test_adopting_and_deleting_a_folder_is_noted(world, ann, bob, tmp_path):
    root, folder = ann.but(admin=True), world.components.storage.root / "unadopted" / "bob"
    for name in ("kept", "gone"):
        await git("init", "-q", "--bare", str(folder / f"{name}.git"), cwd=tmp_path)
    assert (await root.post("/admin/unadopted/bob/kept")).status_code == 204
    assert (await root.call("DELETE", "/api/v1/admin/unadopted/bob/gone")).status_code == 204
    noted = [(entry.action, entry.actor, entry.subject) for entry in (await entries(world))[:2]]
    assert noted == [
        ("repository.delete_unadopted", "ann", "folder bob/gone"),
        ("repository.adopt", "ann", "repository bob/kept"),
    ]


async def test_the_deletion_of_all_repositories_of_an_organization_is_noted(world, ann, app):
    assert (await ann.call("DELETE", "/api/v1/orgs/acme/repos")).status_code == 202
    newest = (await entries(world))[0]
    assert (newest.action, newest.subject) == ("organization.delete_repositories", "organization acme")


async def test_an_export_of_an_organization_is_noted(world, ann, app):
    begun = await ann.post("/orgs/acme/exports")
    newest = (await entries(world))[0]
    assert (newest.action, newest.subject) == ("organization.export", "organization acme")
    assert newest.details["id"] == begun.json()["id"]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_push_mirror_is_noted_without_its_password(world, ann, app):
    body = {"remote_address": "http://me:hunter2@127.0.0.1:9/copy.git", "interval": "0"}
    name = (await ann.post(f"{REPOSITORY}/push_mirrors", body)).json()["remote_name"]
    deletion = await ann.call("DELETE", f"/api/v1{REPOSITORY}/push_mirrors/{name}")
    assert deletion.status_code == 204, deletion.text
    noted = [(entry.action, entry.actor, entry.subject, entry.details) for entry in await entries(world)]
    subject, remote = "repository acme/app", "http://127.0.0.1:9/copy.git"
    assert noted == [
        ("push_mirror.delete", "ann", subject, {"name": name}),
        ("push_mirror.add", "ann", subject, {"name": name, "remote": remote}),
    ]


async def test_what_is_refused_is_not_noted(world, ann, bob, app):
    for method, path, body, _, _ in JOURNEY:
        await bob.call(method, f"/api/v1{path}", body)
    assert await entries(world) == []


@pytest.mark.parametrize("settings", [{"allowed_remotes": ["127.0.0.1"]}])
async def test_imports_of_organizations_are_noted_without_their_credentials(world, ann):
    world.organization(9, "acme")
    root = ann.but(admin=True)
    form = {
        "service": "gitea", "address": "http://127.0.0.1", "source": "there", "organization": "acme",
        "auth_token": "t0ken",
    }  # fmt: skip
    assert (await root.post("/admin/imports", form)).status_code == 202
    assert (await root.call("DELETE", "/api/v1/admin/imports/1")).status_code == 204
    again = {"auth_token": "t0ken", "people": {"cat": "ann"}}
    assert (await root.post("/admin/imports/1/again", again)).status_code == 202
    assert (await root.post("/admin/imports/1/people", {"people": {"cat": "ann"}})).status_code == 202
    noted = await entries(world)
    assert [entry.details.get("people") for entry in noted[:2]] == [["cat is ann"]] * 2
    assert [(entry.action, entry.subject) for entry in noted] == [
        ("organization.reassign_import", "import 1"),
        ("organization.repeat_import", "import 1"),
        ("organization.cancel_import", "import 1"),
        ("organization.import", "organization acme"),
    ]
    assert "t0ken" not in str(noted)


@pytest.mark.usefixtures("copied")
async def test_repeated_and_reassigned_imports_list_their_people(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    people = {f"person{number}": "ann" for number in range(120)}
    root = bob.but(admin=True)
    for path in ("people", "again"):
        answer = await root.post(f"/repos/migrate/{repository_id}/{path}", {"people": people})
        assert answer.status_code == 202, answer.text
    noted = (await entries(world))[:2]
    assert [(entry.action, entry.subject) for entry in noted] == [
        ("repository.repeat_import", "repository bob/copy"),
        ("repository.reassign_import", "repository bob/copy"),
    ]
    for entry in noted:
        assert (len(entry.details["people"]), entry.details["people_count"]) == (100, 120)
        assert len(entry.details["people_sha256"]) == 64
