"""The API creates, changes and deletes files, and no concurrent change is lost."""

import asyncio
import base64
import os
import time
from urllib.parse import quote

import pygit2
import pytest

from ingot_chassis.errors import Invalid
from ingot_git.changes import file_changes as git_file_changes
from ingot_git.changes import patches
from ingot_git.changes.file_changes import FileChange, NewCommit
from ingot_git.process.configuration import CONFIG
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.refs.refs import set_ref
from ingot_git.testing.builders import AUTHOR, commit, commit_of_tree, million_files, set_branches
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.changes.rules.files import CommitRequest, FileEditor
from ingot_repos.protection.rules.decisions import actor_of, rules_of
from ingot_repos.pushes.rules.ref_updates import RefUpdates

from ..code_world import opened, repository_with_history
from ..world import World, git

C = "/api/v1/repos/ann/app/contents"


def encoded(text):
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


@pytest.fixture
async def readme(ann, app):
    """The sha of README.md."""
    return (await ann.get("/repos/ann/app/contents/README.md")).json()["sha"]


def files_of(world, app, branch="master"):
    """Path to content of all files of a branch."""
    repo = opened(world, app["id"])
    index = pygit2.Index()
    index.read_tree(repo.references[f"refs/heads/{branch}"].peel().tree)
    return {entry.path: (entry.mode, repo[entry.id].data) for entry in index if entry.mode != 0o160000}


async def text_of(person, path, ref="master"):
    answer = await person.get(f"/repos/ann/app/raw/{ref}/{path}")
    return answer.text if answer.status_code == 200 else answer.status_code


async def test_a_file_is_created_with_a_commit_that_is_announced_like_a_push(world, ann, app):
    answer = await ann.call("POST", f"{C}/docs/new.txt", {"content": encoded("new\n")})
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert (body["content"]["path"], base64.b64decode(body["content"]["content"])) == (
        "docs/new.txt",
        b"new\n",
    )
    assert body["content"]["last_commit_sha"] == body["commit"]["sha"]
    assert body["commit"]["message"] == "Add docs/new.txt\n"
    assert [parent["sha"] for parent in body["commit"]["parents"]] == [app["third"]]
    assert (body["commit"]["author"]["name"], body["commit"]["author"]["email"]) == ("Ann", "ann@example.org")
    assert body["verification"]["verified"] is False
    assert await text_of(ann, "docs/new.txt") == "new\n"
    assert await text_of(ann, "README.md") == "# app\n\nmore\n"
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["before"], event["after"]) == (
        "refs/heads/master", app["third"], body["commit"]["sha"],
    )  # fmt: skip
    assert event["pusher"]["login"] == "ann"
    assert [one["added"] for one in event["commits"]] == [["docs/new.txt"]]
    assert await world.rows("push") == []


async def test_a_file_is_changed_and_moved_and_deleted(world, ann, app, readme):
    changed = await ann.call("PUT", f"{C}/README.md", {"content": encoded("two\n"), "sha": readme})
    assert changed.status_code == 200, changed.text
    assert changed.json()["commit"]["message"] == "Update README.md\n"
    script = (await ann.get("/repos/ann/app/contents/run.sh")).json()["sha"]
    moved = await ann.call(
        "PUT", f"{C}/bin/go.sh", {"content": encoded("#!/bin/bash\n"), "sha": script, "from_path": "run.sh"}
    )
    assert moved.status_code == 200, moved.text
    body = {"sha": changed.json()["content"]["sha"], "message": "away", "branch": "master"}
    deleted = await ann.call("DELETE", f"{C}/README.md", body)
    assert (deleted.status_code, deleted.json()["content"]) == (200, None)
    assert deleted.json()["commit"]["message"] == "away\n"
    files = files_of(world, app)
    assert "README.md" not in files
    assert "run.sh" not in files
    assert files["bin/go.sh"] == (0o100755, b"#!/bin/bash\n")
    assert len(await world.events("push")) == 4 + 3


async def test_without_a_sha_a_put_creates(ann, app):
    created = await ann.call("PUT", f"{C}/fresh.txt", {"content": ""})
    assert created.status_code == 201, created.text
    assert (await ann.call("PUT", f"{C}/fresh.txt", {"content": encoded("x")})).status_code == 422


async def test_who_and_when_and_where_are_as_the_request_says(world, ann, app):
    body = {
        "content": encoded("x"),
        "message": "say\n\nmore",
        "author": {"name": "A", "email": "a@x.org"},
        "committer": {"name": "C", "email": "c@x.org"},
        "dates": {"author": "2021-01-02T03:04:05+02:00", "committer": "2021-02-03T04:05:06Z"},
        "signoff": True,
        "branch": "feature/side",
        "new_branch": "topic",
    }
    commit = (await ann.call("POST", f"{C}/x.txt", body)).json()["commit"]
    assert commit["author"] == {"name": "A", "email": "a@x.org", "date": "2021-01-02T01:04:05Z"}
    assert commit["committer"] == {"name": "C", "email": "c@x.org", "date": "2021-02-03T04:05:06Z"}
    assert commit["message"] == "say\n\nmore\n\nSigned-off-by: C <c@x.org>\n"
    assert commit["parents"][0]["sha"] == app["side"]
    assert opened(world, app["id"]).references["refs/heads/feature/side"].target.__str__() == app["side"]
    assert await text_of(ann, "x.txt", "topic") == "x"
    taken = await ann.call("POST", f"{C}/y.txt", {"content": "", "new_branch": "topic"})
    assert (taken.status_code, taken.json()["errors"][0]["field"]) == (422, "new_branch")
    forced = {"content": encoded("y"), "new_branch": "topic", "force_push": True}
    assert (await ann.call("POST", f"{C}/y.txt", forced)).status_code == 201
    assert await text_of(ann, "x.txt", "topic") == 404
    nothing = {"author": {"name": "", "email": ""}, "dates": {"author": "0001-01-01T00:00:00Z"}, "branch": ""}
    commit = (await ann.call("POST", f"{C}/as-the-go-client.txt", {"content": "", **nothing})).json()[
        "commit"
    ]
    assert (commit["author"]["name"], commit["author"]["date"][:2]) == ("Ann", "20")
    only_author = {"content": "", "author": {"name": "A", "email": "a@x.org"}}
    commit = (await ann.call("POST", f"{C}/z.txt", only_author)).json()["commit"]
    assert commit["committer"]["name"] == "A"


async def test_many_files_in_one_commit_all_or_none(world, ann, app, readme):
    main = (await ann.get("/repos/ann/app/contents/src/main.py")).json()["sha"]
    script = (await ann.get("/repos/ann/app/contents/run.sh")).json()["sha"]
    files = [
        {"operation": "create", "path": "a/b/c.txt", "content": encoded("c")},
        {"operation": "update", "path": "README.md", "content": encoded("r"), "sha": readme},
        {"operation": "delete", "path": "src/main.py", "sha": main},
        {"operation": "rename", "path": "moved.sh", "from_path": "run.sh", "sha": script},
        {"operation": "upload", "path": "src/deep/x.txt", "content": encoded("replaced")},
        {"operation": "upload", "path": "src/new.txt", "content": encoded("n")},
    ]
    before = files_of(world, app)
    stored = sorted(world.components.storage.path(app["id"]).rglob("*"))
    wrong = await ann.call(
        "POST", C, {"files": [*files, {"operation": "create", "path": "a/b/c.txt", "content": ""}]}
    )
    assert wrong.status_code == 422, wrong.text
    assert files_of(world, app) == before
    assert sorted(world.components.storage.path(app["id"]).rglob("*")) == stored
    answer = await ann.call("POST", C, {"files": files, "message": "all at once"})
    assert answer.status_code == 201, answer.text
    assert [one and one["path"] for one in answer.json()["files"]] == [
        "a/b/c.txt", "README.md", None, "moved.sh", "src/deep/x.txt", "src/new.txt",
    ]  # fmt: skip
    after = files_of(world, app)
    assert after["moved.sh"] == (0o100755, b"#!/bin/sh\n")
    assert after["src/deep/x.txt"][1] == b"replaced"
    assert after.keys() - before.keys() == {"a/b/c.txt", "moved.sh", "src/new.txt"}
    assert before.keys() - after.keys() == {"src/main.py", "run.sh"}
    assert len(await world.events("push")) == 4 + 1


async def test_a_folder_that_becomes_empty_is_gone_and_a_file_may_take_its_place(world, ann, app):
    x = (await ann.get("/repos/ann/app/contents/src/deep/x.txt")).json()["sha"]
    files = [
        {"operation": "delete", "path": "src/deep/x.txt", "sha": x},
        {"operation": "create", "path": "src/deep", "content": encoded("a file now")},
    ]
    assert (await ann.call("POST", C, {"files": files})).status_code == 201
    assert files_of(world, app)["src/deep"][1] == b"a file now"


HOSTILE_PATHS = [
    ".git/config", "a/.GIT/x", "git~1", ".git /x", "a\\b", "a\nb", "a/" * 300 + "x", "x" * 5000, "\u200c.git",
    "a\x7fb", "src", "src/main.py/x", "link", "link/x", "lib", "lib/x", "README.md",
]  # fmt: skip


async def test_paths_that_may_not_be_written(world, ann, app):

    for path in HOSTILE_PATHS:
        answer = await ann.call("POST", f"{C}/{quote(path, safe='')}", {"content": ""})
        assert answer.status_code == 422, (path, answer.text)
        body = {"files": [{"operation": "create", "path": path, "content": ""}]}
        assert (await ann.call("POST", C, body)).status_code == 422, path
    for path in ("", "/", "a//b", "./a", "../a", "a/../b", "/etc/passwd", "a/"):
        body = {"files": [{"operation": "create", "path": path, "content": ""}]}
        answer = await ann.call("POST", C, body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "files[0].path"), path
    assert len(await world.events("push")) == 4


def several(second):
    """A change of two files, of which the first one fits."""
    return {"files": [{"operation": "create", "path": "new.txt", "content": ""}, second]}


async def test_requests_that_do_not_fit(world, ann, app, readme):
    for method, path, body, status, field in [
        ("POST", "README.md", {"content": ""}, 422, "path"),
        ("POST", "x", {}, 422, "content"),
        ("POST", "x", {"content": "!"}, 422, "content"),
        ("POST", "x", {"content": "", "branch": "none"}, 404, None),
        ("POST", "x", {"content": "", "branch": "-x"}, 422, "branch"),
        ("POST", "x", {"content": "", "new_branch": "a..b"}, 422, "new_branch"),
        ("POST", "x", {"content": "", "dates": {"author": "soon"}}, 422, "dates.author"),
        (
            "POST",
            "x",
            {"content": "", "dates": {"committer": "1815-12-10T00:00:00Z"}},
            422,
            "dates.committer",
        ),
        ("PUT", "README.md", {"content": ""}, 422, "path"),
        ("PUT", "README.md", {"content": "", "sha": "1" * 40}, 422, "sha"),
        ("PUT", "none.txt", {"content": "", "sha": readme}, 404, None),
        ("PUT", "x", {"content": "", "from_path": "README.md"}, 422, "sha"),
        ("PUT", "x", {"content": "", "sha": readme, "from_path": "none"}, 404, None),
        ("PUT", "src/main.py", {"content": "", "sha": readme, "from_path": "README.md"}, 422, "path"),
        ("DELETE", "README.md", {}, 422, "sha"),
        ("DELETE", "README.md", {"sha": "1" * 40}, 422, "sha"),
        ("DELETE", "none.txt", {"sha": "1" * 40}, 404, None),
        ("DELETE", "src", {"sha": "1" * 40}, 422, "path"),
        ("POST", "", {"files": []}, 422, "files"),
        ("POST", "", {}, 422, "files"),
        ("POST", "", {"files": [{"operation": "destroy", "path": "x"}]}, 422, "files[0].operation"),
        ("POST", "", {"files": [{"operation": "rename", "path": "x", "sha": readme}]}, 404, None),
        (
            "POST",
            "",
            several({"operation": "update", "path": "README.md", "sha": "1" * 40}),
            422,
            "files[1].sha",
        ),
        ("POST", "", several({"operation": "create", "path": "README.md"}), 422, "files[1].path"),
        ("POST", "", several({"operation": "create", "path": "y", "content": "!"}), 422, "files[1].content"),
        ("POST", "x", {"content": "", "author": {"email": "notmail"}}, 422, "author.email"),
        ("POST", "x", {"content": "", "committer": {"email": "a <b@x.org>"}}, 422, "committer.email"),
        ("POST", "", {"files": [{"operation": "create", "path": "x", "content": ""}] * 501}, 422, "files"),
    ]:
        answer = await ann.call(method, f"{C}/{path}".rstrip("/"), body)
        assert answer.status_code in (status, 400 if status == 422 else status), (
            method,
            path,
            body,
            answer.text,
        )
        if field is not None:
            assert answer.json()["errors"][0]["field"] == field, (method, path, body, answer.text)
    assert len(await world.events("push")) == 4


async def test_who_may_write(world, ann, bob):
    await repository_with_history(world, ann)
    admin = world.user(3, "root").but(admin=True)
    for number, (person, status) in enumerate([
        (world.user(0, ""), 401),
        (bob, 403),
        (ann.but(restricted_to=[99]), 403),
        (ann.but(scopes=["read:repository"]), 403),
        (ann, 201),
        (ann.but(restricted_to=[1]), 201),
        (admin, 201),
    ]):  # fmt: skip
        answer = await person.call("POST", f"{C}/f{number}", {"content": ""})
        assert answer.status_code == status, (number, answer.text)
    restricted = [event["confined"] for event in await world.events("push")][-2:]
    assert restricted == [True, False]
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    assert (await bob.call("POST", f"{C}/bob", {"content": ""})).status_code == 201
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    for method, path in (("POST", "x"), ("PUT", "x"), ("DELETE", "bob"), ("POST", "")):
        body = {"content": "", "sha": "1" * 40, "files": [{"operation": "create", "path": "y"}]}
        assert (await ann.call(method, f"{C}/{path}".rstrip("/"), body)).status_code == 403
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": False, "private": True})
    stranger = world.user(4, "cleo")
    assert (await stranger.call("POST", f"{C}/x", {"content": ""})).status_code == 404


async def test_a_mirror_is_not_written_to(world, ann):
    app = await repository_with_history(world, ann)
    async with world.database.transaction() as tx:
        repository = world.database.metadata.tables["repository"]
        await tx.execute(repository.update().where(repository.c.id == app["id"]).values(mirror=True))
    assert (await ann.call("POST", f"{C}/x", {"content": ""})).status_code == 403


async def test_the_first_commit_of_an_empty_repository(world, ann):
    await ann.create("app")
    answer = await ann.call("POST", f"{C}/a.txt", {"content": encoded("a"), "branch": "trunk"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["commit"]["parents"] == []
    shown = (await ann.get("/repos/ann/app")).json()
    assert (shown["empty"], shown["default_branch"]) == (False, "trunk")
    assert (await ann.call("POST", f"{C}/b.txt", {"content": ""})).status_code == 201


async def test_of_two_changes_of_one_file_at_once_exactly_one_wins(world, ann, app, readme):
    answers = await asyncio.gather(
        *(
            ann.call(
                "PUT", f"{C}/README.md", {"content": encoded(f"by {n}\n"), "sha": readme, "message": f"{n}"}
            )
            for n in range(8)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [422] * 7
    winner = next(n for n, answer in enumerate(answers) if answer.status_code == 200)
    assert await text_of(ann, "README.md") == f"by {winner}\n"
    assert len(await world.events("push")) == 4 + 1


async def test_changes_of_different_files_at_once_from_two_processes_all_arrive(world, ann, app, tmp_path):
    """The second world is another process on the same database and disk: it shares no lock with the first."""
    other = World(world.settings.database_url, tmp_path, identity=world.identity)
    try:
        again = other.user(1, "ann", full_name="Ann")
        answers = await asyncio.gather(
            *((ann, again)[n % 2].call("POST", f"{C}/f{n}", {"content": encoded(f"{n}")}) for n in range(8))
        )
        assert [answer.status_code for answer in answers] == [201] * 8, [answer.text for answer in answers]
        files = files_of(world, app)
        assert {files[f"f{n}"][1] for n in range(8)} == {b"%d" % n for n in range(8)}
        history = (await ann.get("/repos/ann/app/commits")).json()
        assert len(history) == 3 + 8
        moves = [event for event in await world.events("push") if event["ref"] == "refs/heads/master"]
        assert moves[-1]["after"] == history[0]["sha"]
        assert [event["before"] for event in moves[1:]] == [event["after"] for event in moves[:-1]]
    finally:
        await other.close()


class InterruptedUpdates(RefUpdates):
    """Between judging a change and moving the branch, the branch moves to ``tip``, once."""

    tip = ""

    async def apply(self, changes):
        if self.tip:
            set_ref(opened_by(self), changes[0].name, self.tip)
            self.tip = ""
        await super().apply(changes)


def opened_by(updates):
    return updates._storage.open(updates.row.id)


async def test_a_change_is_judged_again_when_the_branch_moved_meanwhile(world, ann, app, readme):
    """It is made on top of what is there now, or refused."""
    async with world.database.read() as db:
        row = await repositories.get_unfiltered(db, app["id"])
        actor = await accounts.get(db, ann.principal.id)

    async def read_rules():
        async with world.database.read() as db:
            return await rules_of(db, app["id"])

    repo, components = opened(world, app["id"]), world.components
    mover = actor_of(ann.principal, row, "owner")
    updates = InterruptedUpdates(
        components.storage,
        components.pushes,
        row,
        actor,
        read_rules,
        mover,
        components.judge,
        restricted=False,
    )
    editor = FileEditor(components.storage, updates, None)
    updates.tip = commit(repo, {"README.md": b"of a push\n"}, [app["third"]])
    change = FileChange(operation="update", path="README.md", content=b"mine", sha=readme)
    with pytest.raises(Invalid):
        await editor.commit(CommitRequest(), [change])
    assert await text_of(ann, "README.md") == "of a push\n"
    updates.tip = commit(repo, {"other": b"1"}, [str(repo.references["refs/heads/master"].target)])
    prepared = await editor.commit(
        CommitRequest(), [FileChange(operation="create", path="mine", content=b"2")]
    )
    assert prepared.info.parents[0] != app["third"]
    assert (await text_of(ann, "mine"), await text_of(ann, "other")) == ("2", "1")


PATCH = """diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -1,3 +1,4 @@
 # app
\x20
 more
+by a patch
diff --git a/fresh.txt b/fresh.txt
new file mode 100755
--- /dev/null
+++ b/fresh.txt
@@ -0,0 +1 @@
+fresh
"""


async def diff(path, *options):
    return await git("diff", "--binary", "--full-index", "-M", *options, cwd=path)


async def test_a_patch_has_binary_files_and_other_names(world, ann, app, tmp_path):
    work = tmp_path / "work"
    await git("clone", "-q", str(world.components.storage.path(app["id"])), "work", cwd=tmp_path)
    noise = b"\0" + os.urandom(1000)
    (work / "noise").write_bytes(noise)
    (work / "empty").touch()
    await git("mv", "README.md", "read me", cwd=work)
    await git("add", ".", cwd=work)
    patches = [await diff(work, "--cached")]
    await git("commit", "-qm", "one", cwd=work)
    (work / "noise").write_bytes(noise + b"more")
    (work / "read me").chmod(0o755)
    patches.append(await diff(work))
    for patch in patches:
        answer = await ann.call("POST", "/api/v1/repos/ann/app/diffpatch", {"content": patch})
        assert answer.status_code == 201, answer.text
    files = files_of(world, app)
    assert (files["noise"], files["empty"], files["read me"][0]) == (
        (0o100644, noise + b"more"),
        (0o100644, b""),
        0o100755,
    )
    assert "README.md" not in files


async def test_a_patch_takes_no_file_of_another_history_by_its_id(world, ann, app):
    path = world.components.storage.path(app["id"])
    secret = str(pygit2.Repository(str(path)).create_blob(b"\0secret"))
    before = sorted(path.rglob("*"))
    patch = f"""\
diff --git a/stolen b/stolen
new file mode 100644
index {"0" * 40}..{secret}
GIT binary patch
literal 0
HcmV?d00001

literal 0
HcmV?d00001

"""
    answer = await ann.call("POST", "/api/v1/repos/ann/app/diffpatch", {"content": patch})
    assert (answer.status_code, answer.json().get("errors", [{}])[0].get("field")) == (422, "content")
    assert sorted(path.rglob("*")) == before


async def test_a_patch_is_committed_if_it_applies(world, ann, app):
    patch = "/api/v1/repos/ann/app/diffpatch"
    answer = await ann.call("POST", patch, {"content": PATCH, "message": "patched", "branch": "master"})
    assert answer.status_code == 201, answer.text
    assert (answer.json()["content"], answer.json()["commit"]["message"]) == (None, "patched\n")
    assert await text_of(ann, "README.md") == "# app\n\nmore\nby a patch\n"
    assert files_of(world, app)["fresh.txt"] == (0o100755, b"fresh\n")
    assert [event["ref"] for event in await world.events("push")][4:] == ["refs/heads/master"]
    fresh = PATCH[PATCH.index("diff --git a/fresh") :]
    for text in (
        PATCH, "no patch", "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
        fresh.replace("fresh.txt", ".git/hooks/x"), fresh.replace("fresh.txt", "a/.GIT/config"),
    ):  # fmt: skip
        refused = await ann.call("POST", patch, {"content": text})
        assert (refused.status_code, refused.json().get("errors", [{}])[0].get("field")) == (
            422,
            "content",
        ), (text, refused.text)
    assert (await ann.call("POST", patch, {"content": PATCH, "branch": "none"})).status_code == 404
    assert (await world.user(7, "eve").call("POST", patch, {"content": PATCH})).status_code == 403


MODULES = '[submodule "x"]\n\tpath = x\n\turl = https://example.org/x\n'
HOSTILE = {
    "a path": ("a/b/.gitmodules", MODULES.replace("= x", "= -x"), "gitmodulesPath"),
    "a url": ("deep/.gitmodules", MODULES.replace("https://example.org/x", "-u./payload"), "gitmodulesUrl"),
    "a name": (".GITMODULES", MODULES.replace('"x"', '"../../x"'), "gitmodulesName"),
    "a short name": ("gitmod~1", MODULES.replace("= x", "= -x"), "gitmodulesPath"),
    "a name for HFS+": (".gitmod\u200cules", MODULES.replace("= x", "= -x"), "gitmodulesPath"),
    "a long line": (".gitattributes", "a" * 4096 + "\n", "gitattributesLineLength"),
}


def added(path, text, mode="100644"):
    """A patch that adds a file."""
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    end = "" if text.endswith("\n") else "\\ No newline at end of file\n"
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(text.splitlines())} @@\n{lines}{end}"


async def push_file(world, app, folder, path, text):
    """Push a commit of one more file, by git; the refusal."""
    repo = pygit2.init_repository(str(folder), bare=True)
    repo.remotes.create("there", f"file://{world.components.storage.path(app['id'])}")
    tip = commit(repo, {path: text.encode()})
    settings = " ".join(f"-c {key}={value}" for key, value in CONFIG if key.startswith("receive.fsck"))
    process = await asyncio.create_subprocess_exec(
        "git", "push", f"--receive-pack=git {settings} receive-pack", "there", f"{tip}:refs/heads/pushed",
        cwd=folder, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    return (await process.communicate())[1].decode()


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_file_that_a_push_may_not_bring_is_refused(world, ann, app, tmp_path, kind):
    path, text, flaw = HOSTILE[kind]
    assert flaw in await push_file(world, app, tmp_path / "source.git", path, text)
    folder = world.components.storage.path(app["id"])
    before = sorted(folder.rglob("*"))
    body, files = {"content": encoded(text)}, [{"operation": "upload", "path": "x"}]
    files.append({"operation": "upload", "path": path} | body)
    for answer, field in (
        (await ann.call("POST", f"{C}/{quote(path)}", body), "path"),
        (await ann.call("POST", C, {"files": files}), "files[1].path"),
        (await ann.call("POST", f"{C[:-8]}diffpatch", {"content": added(path, text)}), "content"),
    ):
        assert answer.status_code == 422, answer.text
        error = answer.json()["errors"][0]
        assert (error["field"], error["code"], error["message"].partition(":")[0]) == (field, "unsafe", path)
        assert flaw in error["message"]
    assert sorted(folder.rglob("*")) == before

    # As any other file it may be there, and not be given the name.
    created = await ann.call("POST", f"{C}/harmless", body)
    assert created.status_code == 201
    move = {"operation": "rename", "from_path": "harmless", "path": path}
    moved = await ann.call("POST", C, {"files": [move | {"sha": created.json()["content"]["sha"]}]})
    assert (moved.status_code, flaw in moved.text) == (422, True)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_no_patch_makes_a_link_of_a_file_that_git_reads(world, ann, app):
    patch = f"{C[:-8]}diffpatch"
    folder = world.components.storage.path(app["id"])
    before = sorted(folder.rglob("*"))
    for path in (".gitattributes", "deep/.gitattributes", ".GITATTRIBUTES", "gi7d29~1"):
        answer = await ann.call("POST", patch, {"content": added(path, "/etc/passwd", "120000")})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "content"), answer.text
        assert f"{path}: " in answer.text
    for path in (".git/config", "gitmod~1"):
        refused = await ann.call("POST", patch, {"content": added(path, "x", "120000")})
        assert refused.status_code == 422
    assert sorted(folder.rglob("*")) == before
    for path in (".gitignore", ".mailmap", "shortcut"):  # git itself only warns
        answer = await ann.call("POST", patch, {"content": added(path, "target", "120000")})
        assert answer.status_code == 201, answer.text


async def test_a_commit_of_very_many_folders_is_refused(world, ann, app, monkeypatch):
    monkeypatch.setattr(git_file_changes, "MOST_FOLDERS", 30)

    def change(count, depth):
        return [
            {"operation": "create", "path": "/".join([f"d{number}"] * depth) + "/f", "content": ""}
            for number in range(count)
        ]

    assert (await ann.call("POST", C, {"files": change(3, 10)})).status_code == 201
    before = files_of(world, app)
    answer = await ann.call("POST", C, {"files": change(7, 5)[3:] + change(20, 5)[10:]})
    assert (answer.status_code, "more than 30 folders" in answer.text) == (422, True), answer.text
    assert "files[6].path" in answer.text
    assert files_of(world, app) == before


async def test_a_patch_that_takes_too_much_cpu_time_is_refused(ann, app, monkeypatch):
    patch = (
        "diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+new\n"
    )
    request = {"content": patch, "message": "x"}
    monkeypatch.setattr(patches, "READ", CpuLimit(0.0))
    answer = await ann.call("POST", "/api/v1/repos/ann/app/diffpatch", request)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "content"), answer.text
    monkeypatch.undo()
    assert (await ann.call("POST", "/api/v1/repos/ann/app/diffpatch", request)).status_code == 201


async def test_a_patch_reads_the_folders_that_it_changes_and_no_others(world, app):
    """Few folders may have any number of files: here a million."""
    repo = world.components.storage.open(app["id"])
    tree = million_files(repo, b"boom\n")
    set_branches(repo, master=commit_of_tree(repo, tree))
    patch = "diff --git a/a/n b/a/n\nnew file mode 100644\n--- /dev/null\n+++ b/a/n\n@@ -0,0 +1 @@\n+new\n"
    new = NewCommit("master", "master", (), "x\n", AUTHOR, AUTHOR)
    began = time.thread_time()
    created = patches.prepare_patch(repo, new, patch=patch.encode()).info
    assert time.thread_time() - began < 1
    new_tree = repo[created.oid].tree
    assert (new_tree["a/n"].data, len(new_tree["a"])) == (b"new\n", 11)
    assert new_tree["b"].id == repo[tree]["b"].id


@pytest.mark.parametrize(
    ("files", "path", "status"),
    [
        ({"a": b"x\n"}, "a/b", 422),
        ({"a/b": b"x\n"}, "a", 422),
        ({"a": b"x\n"}, "a", 422),
        ({"a/b": b"x\n"}, "a/c", 201),
    ],
)
async def test_a_patch_puts_no_file_where_something_else_is(ann, app, files, path, status):
    changes = [
        {"operation": "create", "path": name, "content": encoded(content.decode())}
        for name, content in files.items()
    ]
    assert (await ann.call("POST", C, {"files": changes})).status_code == 201
    header = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    patch = f"{header}@@ -0,0 +1 @@\n+n\n"
    answer = await ann.call("POST", "/api/v1/repos/ann/app/diffpatch", {"content": patch})
    assert answer.status_code == status, answer.text
    assert status == 201 or answer.json()["errors"][0]["field"] == "content"


async def test_a_patch_makes_a_folder_of_a_file_and_a_file_of_a_folder(world, ann, app, tmp_path):
    work = tmp_path / "work"
    await git("clone", "-q", str(world.components.storage.path(app["id"])), "work", cwd=tmp_path)
    patches = []
    for files in ({"x": "1\n", "y/z": "2\n"}, {"x/a": "1\n", "y": "2\n"}):
        await git("rm", "-rfq", "--ignore-unmatch", ".", cwd=work)
        for name, text in files.items():
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text)
        await git("add", "-A", cwd=work)
        patches.append(await diff(work, "--cached"))
        await git("commit", "-qm", "x", cwd=work)
    for patch in patches:
        answer = await ann.call("POST", "/api/v1/repos/ann/app/diffpatch", {"content": patch})
        assert answer.status_code == 201, answer.text
    assert {name: content for name, (_, content) in files_of(world, app).items()} == {
        "x/a": b"1\n",
        "y": b"2\n",
    }
