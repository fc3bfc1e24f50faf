"""Commits and tags that the server signs, judged by git with gpg and with ssh-keygen."""

import asyncio
import os
import subprocess
from base64 import b64encode

import pytest

from ingot_git.process.errors import SigningFailed
from ingot_git.testing import builders
from ingot_git.testing.builders import LINES, set_branches

from ..code_world import opened
from ..protection.test_protections import protect
from ..signing_keys import ADDRESS, NAME, key_file, signing
from ..world import World
from .test_signatures import SshKey, register
from .test_signatures import commit as signed_commit

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
SERVER = (NAME, ADDRESS)
KINDS = ("gpg", "pub")
"""The kinds of keys, by the ends of the paths that answer them."""


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def settings(kind, tmp_path):
    return signing(key_file(kind, tmp_path))


class Judge:
    """git with the public key of the server alone: as its API answers it."""

    def __init__(self, home, kind, public_key):
        self._home = home
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C"}
        home.mkdir()
        if kind == "gpg":
            (home / ".gnupg").mkdir(mode=0o700)
            (home / ".gnupg/gpg.conf").write_text("no-autostart\n")
            self._run("gpg", "--quiet", "--import", text=public_key)
        else:
            (home / "signers").write_text(f"{ADDRESS} {public_key}")
            (home / ".gitconfig").write_text(f"[gpg.ssh]\n\tallowedSignersFile = {home}/signers\n")

    def accepts(self, path, oid, *, what="commit"):
        return "good" in self._run("git", f"--git-dir={path}", f"verify-{what}", oid).lower()

    def signatures(self, path, revision):
        """The verdicts of ``git log`` on the signatures of a history: G is good, U is of unknown trust."""
        shown = self._run("git", f"--git-dir={path}", "log", "--show-signature", "--format=%G?", revision)
        return [line for line in shown.split("\n") if len(line) == 1]

    def _run(self, *command, text=""):
        run = subprocess.run(
            command,
            input=text,
            env=self._environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return run.stdout if run.returncode == 0 else f"bad: {run.stdout}"


@pytest.fixture
async def judge(world, ann, tmp_path, kind):
    answer = await ann.get(f"/signing-key.{kind}")
    assert answer.status_code == 200, answer.text
    return Judge(tmp_path / "home", kind, answer.text)


def people(repo, oid):
    """The names and addresses of author and committer."""
    commit_object = repo[oid]
    author, committer = commit_object.author, commit_object.committer
    return (author.name, author.email), (committer.name, committer.email)


def content(text):
    return b64encode(text.encode()).decode()


async def newest(person, branch="master", repository="ann/app"):
    return (await person.get(f"/repos/{repository}/branches/{branch}")).json()["commit"]


async def merge_of_two_sides(world, person, repository_id, style):
    """Merge a branch with two commits. Return the commits that the base has since then, the newest first."""
    repo = opened(world, repository_id)
    start = builders.commit(repo, {"a": LINES})
    main = builders.commit(repo, {"a": b"main\n" + LINES}, [start])
    first = builders.commit(repo, {"a": LINES + b"first\n"}, [start])
    topic = builders.commit(repo, {"a": LINES + b"first\nsecond\n"}, [first])
    set_branches(repo, main=main, topic=topic)
    body = {"number": 1, "base_branch": "main", "head_sha": topic, "style": style}
    answer = await person.internal(
        "POST",
        f"{repository_id}/merge",
        body | {"head_repository_id": repository_id, "head_branch": "topic"},
    )
    assert answer.status_code == 200, answer.text
    return repo, [str(one.id) for one in repo.walk(answer.json()["sha"]) if str(one.id) not in (main, start)]


@pytest.mark.parametrize(("style", "own"), [("merge", 1), ("squash", 1), ("rebase", 2), ("rebase-merge", 3)])
async def test_git_accepts_the_signatures_of_what_a_merge_makes(world, ann, base, judge, style, own):
    repo, oids = await merge_of_two_sides(world, ann, base, style)
    by_server = [oid for oid in oids if people(repo, oid)[1] == SERVER]
    assert (len(by_server), by_server[0]) == (own, oids[0])
    assert all(judge.accepts(repo.path, oid) for oid in by_server)
    assert set(judge.signatures(repo.path, oids[0])[:1]) <= {"G", "U"}
    # The author of a replayed commit stays, the merge is by who asked for it.
    authors = [people(repo, oid)[0][1] for oid in by_server]
    replayed = {"rebase": 2, "rebase-merge": 2}.get(style, 0)
    assert authors == ["ann@example.org"] * (own - replayed) + [builders.AUTHOR.email] * replayed


async def test_changes_of_files_are_signed(world, ann, judge):
    created = await ann.create("app", auto_init=True)
    repo = opened(world, created["id"])
    initial = (await newest(ann))["id"]
    answer = await ann.post("/repos/ann/app/contents/a.txt", {"content": content("a\n")})
    assert answer.status_code == 201, answer.text
    first = answer.json()["commit"]["sha"]
    assert answer.json()["verification"]["verified"] is True
    many = {"files": [{"operation": "create", "path": "b", "content": content("b")}]}
    second = (await ann.post("/repos/ann/app/contents", many)).json()
    assert second["verification"]["signer"] == {"name": NAME, "email": ADDRESS, "username": ""}
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n a\n+c\n"
    third = (await ann.post("/repos/ann/app/diffpatch", {"content": patch})).json()["commit"]["sha"]
    fourth = (await ann.post(f"/repos/ann/app/commits/{third}/revert")).json()["commit"]["sha"]
    page = await ann.post("/repos/ann/app/wiki/new", {"title": "Home", "content_base64": content("x")})
    wiki = opened(world, max(row.id for row in await world.rows("repository")))
    for repository, oid in (
        *((repo, oid) for oid in (initial, first, second["commit"]["sha"], third, fourth)),
        (wiki, page.json()["last_commit"]["sha"]),
    ):
        assert judge.accepts(repository.path, oid)
        assert people(repository, oid) == (("Ann", "ann@example.org"), SERVER)


async def test_a_committer_who_is_not_the_author_is_named_in_the_message(world, ann, judge):
    created = await ann.create("app", auto_init=True)
    repo = opened(world, created["id"])
    body = {
        "content": content("a"),
        "author": {"name": "Cy", "email": "cy@example.org"},
        "committer": {"name": "Dee", "email": "dee@example.org"},
        "signoff": True,
        "message": "add a",
        "dates": {"committer": "2020-01-02T03:04:05Z"},
    }
    oid = (await ann.post("/repos/ann/app/contents/a", body)).json()["commit"]["sha"]
    trailers = "Signed-off-by: Dee <dee@example.org>\nCo-committed-by: Dee <dee@example.org>\n"
    assert repo[oid].message == f"add a\n\n{trailers}"
    assert people(repo, oid) == (("Cy", "cy@example.org"), SERVER)
    assert repo[oid].committer.time == 1577934245
    assert judge.accepts(repo.path, oid)


async def test_annotated_tags_are_signed_and_keep_their_tagger(world, ann, judge):
    created = await ann.create("app", auto_init=True)
    path = opened(world, created["id"]).path
    tag = (await ann.post("/repos/ann/app/tags", {"tag_name": "v1", "message": "first"})).json()
    release = {"tag_name": "v2", "tag_message": "second"}
    assert (await ann.post("/repos/ann/app/releases", release)).status_code == 201
    for name in ("v1", "v2"):
        assert judge.accepts(path, name, what="tag")
    shown = (await ann.get(f"/repos/ann/app/git/tags/{tag['id']}")).json()
    assert (shown["message"], shown["tagger"]["email"]) == ("first\n", "ann@example.org")
    assert shown["verification"]["verified"] is True


async def test_updates_of_branches_forks_and_copies_of_templates_are_signed(world, ann, bob, judge):
    created = await ann.create("app", auto_init=True, template=True)
    await bob.post("/repos/ann/app/forks")
    await world.components.workers.step()
    for person, owner in ((ann, "ann"), (bob, "bob")):
        body = {"content": content("x")}
        assert (await person.post(f"/repos/{owner}/app/contents/{owner}", body)).status_code == 201
    assert (await bob.post("/repos/bob/app/merge-upstream")).json() == {"merge_type": "merge"}
    merged = await newest(bob, repository="bob/app")
    body = {"owner": "bob", "name": "copy", "git_content": True}
    copied = (await bob.post("/repos/ann/app/generate", body)).json()
    fork = (await bob.get("/repos/bob/app")).json()["id"]
    assert judge.accepts(opened(world, fork).path, merged["id"])
    first = await newest(bob, repository="bob/copy")
    assert judge.accepts(opened(world, copied["id"]).path, first["id"])
    await ann.post("/repos/ann/app/branches", {"new_branch_name": "topic"})
    for branch in ("topic", "master"):
        await ann.post(f"/repos/ann/app/contents/{branch}", {"content": content("x"), "branch": branch})
    for style in ("merge", "rebase"):
        head = (await newest(ann, "topic"))["id"]
        update = {"base_repository_id": created["id"], "base_branch": "master", "head_branch": "topic"}
        answer = await ann.internal(
            "POST", f"{created['id']}/update-branch", update | {"head_sha": head, "style": style}
        )
        assert answer.status_code == 200, answer.text
        assert judge.accepts(opened(world, created["id"]).path, answer.json()["sha"])
        await ann.post("/repos/ann/app/contents/more", {"content": content(style)})


@pytest.mark.parametrize("model", ["committer", "collaborator", "collaboratorcommitter"])
async def test_the_api_says_that_the_server_signed_under_every_trust_model(world, ann, model, kind):
    await ann.create("app", auto_init=True, trust_model=model)
    verification = (await newest(ann))["verification"]
    key = world.components.server_keys.current
    assert verification["reason"].startswith(f"{NAME} / ")
    assert verification["reason"].removeprefix(f"{NAME} / ") in key.ids
    assert (verification["verified"], verification["signer"]["email"]) == (True, ADDRESS)
    listed = (await ann.get("/repos/ann/app/commits")).json()[0]
    assert listed["commit"]["verification"]["verified"] is True


async def test_whoever_adds_the_servers_key_to_an_account_takes_no_credit(world, ann):
    await ann.create("app", auto_init=True)
    world.identity.add_account(9, "eve", email="eve@example.org")
    for id_ in world.components.server_keys.current.ids:
        register(world, type("Key", (), {"id": id_, "certificate": b""}), "ann@example.org", ADDRESS)
    assert (await newest(ann))["verification"]["signer"]["username"] == ""


async def test_another_key_does_not_speak_for_the_server(world, ann):
    """Neither does a signature of the server on another text."""
    created = await ann.create("app", auto_init=True)
    repo = opened(world, created["id"])
    tip = (await newest(ann))["id"]
    key, signature = SshKey(), repo[tip].gpg_signature[0].decode()
    who = f"{NAME} <{ADDRESS}> 1600000000 +0000"
    tree = str(repo[tip].tree_id)
    text = f"tree {tree}\nparent {tip}\nauthor {who}\ncommitter {who}\n\nforged\n"
    for branch, sign in (("other", key.sign(text.encode())), ("copied", signature)):
        set_branches(repo, **{branch: str(repo.create_commit_with_signature(text, sign))})
        assert (await newest(ann, branch))["verification"]["verified"] is False


@pytest.mark.parametrize(("style", "is_signed", "code"), [
    ("squash", False, 200), ("squash", True, 200), ("merge", False, 405), ("merge", True, 200),
])  # fmt: skip
async def test_a_branch_of_signed_commits_gets_merges_of_the_server(world, ann, base, style, is_signed, code):
    """A merge also brings the commits of the head: they must be signed, too."""
    repo, key = opened(world, base), SshKey()
    register(world, key)
    tip = (await newest(ann))["id"]
    await protect(ann, "master", enable_push=True, require_signed_commits=True)
    head = signed_commit(repo, "x", key.sign, tip) if is_signed else builders.commit(repo, {"x": b"x"}, [tip])
    set_branches(repo, topic=head)
    body = {"number": 1, "base_branch": "master", "head_sha": head, "style": style}
    from_topic = {"head_repository_id": base, "head_branch": "topic"}
    answer = await ann.internal("POST", f"{base}/merge", body | from_topic)
    assert answer.status_code == code, answer.text


async def test_the_key_of_a_repository_is_for_its_readers(world, ann, bob, kind):
    await ann.create("app", private=True)
    other = {"gpg": "pub", "pub": "gpg"}[kind]
    key = await world.user(0, "").get(f"/signing-key.{kind}")
    assert key.headers["content-type"].startswith("text/plain")
    assert (await ann.get(f"/repos/ann/app/signing-key.{kind}")).text == key.text
    assert (await bob.get(f"/repos/ann/app/signing-key.{kind}")).status_code == 404
    for path in (f"/signing-key.{other}", f"/repos/ann/app/signing-key.{other}"):
        assert (await ann.get(path)).status_code == 404


async def test_a_commit_that_cannot_be_signed_is_not_made(world, ann, monkeypatch):
    await ann.create("app", auto_init=True)
    before = (await newest(ann))["id"]

    def fail(*_):
        raise SigningFailed("the key has expired")

    monkeypatch.setattr(world.components.server_keys.signer, "sign", fail)
    answer = await ann.post("/repos/ann/app/contents/a", {"content": content("a")})
    assert (answer.status_code, answer.json()["message"]) == (503, "the server cannot sign the commit")
    tag = await ann.post("/repos/ann/app/tags", {"tag_name": "v1", "message": "x"})
    assert (tag.status_code, (await newest(ann))["id"]) == (503, before)
    assert (await ann.post("/user/repos", {"name": "more", "auto_init": True})).status_code == 503
    assert (await ann.get("/repos/ann/more")).status_code == 404


async def test_a_former_key_still_verifies_what_it_signed(tmp_path, ann, world, kind):
    await ann.create("app", auto_init=True)
    former = tmp_path / "former"
    former.write_text((await ann.get(f"/signing-key.{kind}")).text)
    folder = tmp_path / "new"
    folder.mkdir()
    for former_keys, verified in (([], False), ([str(former)], True)):
        later = World(
            world.settings.database_url,
            tmp_path,
            identity=world.identity,
            former_signing_keys=former_keys,
            signing_email=ADDRESS,
        )
        person = later.user(1, "ann", full_name="Ann")
        assert (await newest(person))["verification"]["verified"] is verified
        assert (await person.get(f"/signing-key.{kind}")).status_code == 404
        await later.close()


async def test_several_threads_sign_at_once(world):
    signer = world.components.server_keys.signer
    answer = await asyncio.gather(*(asyncio.to_thread(signer.sign, b"%d" % number) for number in range(20)))
    assert all(one.startswith(b"-----BEGIN ") for one in answer)
