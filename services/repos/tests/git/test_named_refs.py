"""Names resolve as in git. No route shows an object without a visible ref, and no push copies it."""

import hashlib
import subprocess
from itertools import count

import pygit2
import pytest
from pygit2.enums import ObjectType

from ingot_git.history.named_refs import named_ref, named_root, split_named_path
from ingot_git.history.new_objects import create_tag
from ingot_git.process.errors import RefNotFound
from ingot_git.refs.refs import ZERO_OID, set_ref
from ingot_git.refs.tag_targets import DEEPEST
from ingot_git.testing.builders import AUTHOR, commit

from ..code_world import opened, repository_with_history

R = "/repos/ann/app"
FILES = {"secret.txt": b"the secret\n", ".editorconfig": b"root = true\n[*]\nindent_size = 3\n"}
READS = (
    "raw/{commit}/secret.txt", "raw/secret.txt?ref={commit}", "media/secret.txt?ref={commit}",
    "archive/{commit}.zip", "archive/{commit}.tar.gz", "archive/{commit}.bundle", "archive/{short}.zip",
    "contents?ref={commit}", "contents/secret.txt?ref={commit}", "contents-ext?ref={commit}",
    "contents-ext/secret.txt?ref={commit}",
    "file-contents?ref={commit}&body=%7B%22files%22:%5B%22secret.txt%22%5D%7D",
    "blame/secret.txt?ref={commit}", "editorconfig/secret.txt?ref={commit}",
    "commits?sha={commit}", "commits?sha={short}", "commits?sha={later}", "commits?not={commit}",
    "commits/{commit}/status", "commits/{commit}/statuses", "statuses/{commit}",
    "git/commits/{commit}", "git/commits/{short}", "git/commits/{commit}.diff", "git/commits/{commit}.patch",
    "git/trees/{commit}", "git/trees/{tree}", "git/trees/{commit}:", "git/blobs/{blob}", "git/tags/{tag}",
    "git/notes/{commit}", "compare/master...{commit}", "compare/{commit}...master",
    "compare/master..{commit}?output=diff", "compare/master...{commit}?output=patch",
    "compare/master...{commit}?output=diff&page=1",
)  # fmt: skip
WRITES = (
    ("POST", "branches", {"new_branch_name": "again", "old_ref_name": "{commit}"}),
    ("PUT", "branches/master", {"new_commit_id": "{commit}", "force": True}),
    ("POST", "tags", {"tag_name": "again", "target": "{commit}"}),
    ("POST", "releases", {"tag_name": "again", "target_commitish": "{commit}"}),
    ("POST", "statuses/{commit}", {"state": "success"}),
    ("POST", "contents/new.txt", {"content": "", "branch": "{commit}", "new_branch": "again"}),
)


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


@pytest.fixture
def repo(world, app):
    return opened(world, app["id"])


@pytest.fixture
def hidden(repo, app):
    """Ids of two commits, a tag and what is in them: none of a visible ref, one of a ref of the service."""
    oid = commit(repo, FILES, [app["third"]], "nobody reads this\n")
    later = commit(repo, {**FILES, "b": b"b"}, [oid], "nor this\n")
    set_ref(repo, "refs/scratch/x", later)
    who = repo[oid].author
    repo.create_note("a note\n", who, who, oid, "refs/notes/commits")
    blob = str(repo[oid].tree["secret.txt"].id)
    tree = str(repo[oid].tree_id)
    tag = create_tag(repo, "old", oid, "a tag", AUTHOR, None)
    return {"commit": oid, "short": oid[:12], "later": later, "tree": tree, "blob": blob, "tag": tag}


NOTHING = {name: f"{number}" * 40 for number, name in enumerate(("commit", "later", "tree", "blob", "tag"),
                                                                1)} | {
    "short": "1" * 12
}  # fmt: skip


def filled(value, ids):
    if isinstance(value, dict):
        return {name: filled(one, ids) for name, one in value.items()}
    return value.format(**ids) if isinstance(value, str) else value


async def answers(person, ids, method, path, body=None):
    """Status and text, without the ids."""
    answer = await person.call(method, f"/api/v1{R}/{filled(path, ids)}", filled(body, ids))
    text = answer.text
    for oid in sorted(ids.values(), key=len, reverse=True):
        text = text.replace(oid, "")
    return answer.status_code, text


async def test_every_route_answers_as_for_what_is_not_there_until_a_ref_leads_to_it(
    ann, bob, repo, app, hidden
):
    for path in READS:
        for person in (bob, ann):
            shown = await answers(person, hidden, "GET", path)
            assert shown == await answers(person, NOTHING, "GET", path), path
            assert shown[0] == 404, path
    for method, path, body in WRITES:
        refused = await answers(ann, hidden, method, path, body)
        assert refused == await answers(ann, NOTHING, method, path, body), path
        assert refused[0] in (404, 422), (path, refused)
    set_ref(repo, "refs/heads/shown", hidden["later"])
    set_ref(repo, "refs/tags/shown", hidden["tag"])
    for path in READS:
        assert (await answers(bob, hidden, "GET", path))[0] == 200, path
    for method, path, body in WRITES[2:5]:
        assert (await answers(ann, hidden, method, path, body))[0] == 201, path


async def push_by_hand(person, repository, name, oid, before=ZERO_OID):
    """Return git's answer to a client that only names an object: the pack is empty."""
    command = f"{before} {oid} {name}\0report-status delete-refs side-band-64k".encode()
    pack = b"PACK" + (2).to_bytes(4) + bytes(4)
    checksum = hashlib.sha1(pack, usedforsecurity=False).digest()
    if oid == ZERO_OID:
        pack = checksum = b""
    answer = await person.call(
        "POST",
        f"/{repository}.git/git-receive-pack",
        content=b"%04x%b0000%b%b" % (len(command) + 4, command, pack, checksum),
        headers={"Content-Type": "application/x-git-receive-pack-request"},
    )
    return answer.text


async def test_only_whoever_may_push_makes_an_old_commit_a_branch_again(ann, bob, app, hidden):
    assert "ok refs/heads/again" not in await push_by_hand(
        bob, "ann/app", "refs/heads/again", hidden["commit"]
    )
    assert (await bob.get(f"{R}/branches/again")).status_code == 404
    assert "ok refs/heads/again" in await push_by_hand(ann, "ann/app", "refs/heads/again", hidden["commit"])
    assert (await bob.get(f"{R}/branches/again")).json()["commit"]["id"] == hidden["commit"]


async def test_what_was_compared_with_a_private_fork_is_not_taken_from_it_by_a_push(
    world, ann, bob, app, repo
):
    fork = (await bob.post(f"{R}/forks")).json()["id"]
    await world.components.workers.step()
    assert (await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})).status_code == 200
    theirs = opened(world, fork)
    first = commit(theirs, {"secret.txt": b"the secret\n"}, [app["second"]], "first of bob's\n")
    tip = commit(theirs, {"secret.txt": b"the secret\n", "b": b"b\n"}, [first], "second of bob's\n")
    set_ref(theirs, "refs/heads/bobs", tip)
    compared = (await bob.get(f"{R}/compare/master...bob:bobs")).json()
    assert [one["sha"] for one in compared["commits"]] == [tip, first]
    assert [one["filename"] for one in compared["commits"][0]["files"]] == ["b"]
    for query in ("output=diff", "output=diff&page=1", "output=patch"):
        for dots in ("..", "..."):
            text = await bob.get(f"{R}/compare/master{dots}bob:bobs?{query}")
            assert (text.status_code, "+the secret" in text.text) == (200, True), query
    question = {"base_branch": "master", "head_branch": "bobs", "head_repository_id": fork}
    counted = await bob.internal("POST", f"{app['id']}/compare", question)
    assert (counted.json()["commits"], counted.json()["head_sha"]) == (2, tip)
    assert counted.json()["counts"]["changed_files"] > 0
    for oid in (tip, first):
        assert oid not in repo
        for repository, person in (("ann/app", ann), ("bob/app", ann)):
            assert "ok refs/heads/mine" not in await push_by_hand(person, repository, "refs/heads/mine", oid)
    assert (await ann.get(f"{R}/branches/mine")).status_code == 404
    # The ref of a pull request keeps it: its author has published it.
    await bob.internal("POST", f"{app['id']}/compare", question | {"number": 7})
    assert (await ann.get(f"{R}/git/commits/{tip}")).status_code == 200


async def test_no_route_takes_a_ref_that_is_called_like_an_id_for_the_object(ann, bob, repo, app, hidden):
    set_ref(repo, "refs/heads/shown", hidden["later"])
    set_ref(repo, "refs/tags/shown", hidden["tag"])
    before = {path: await answers(bob, hidden, "GET", path) for path in READS}
    assert {status for status, _ in before.values()} == {200}
    for name in ("commit", "later", "tag", "tree", "blob"):
        for number, prefix in enumerate(("refs/heads/", "refs/tags/")):
            set_ref(repo, f"{prefix}{hidden[name]}", app["third"])
            set_ref(repo, f"{prefix}x/{hidden[name]}{number}.diff", app["third"])
    set_ref(repo, f"refs/heads/{hidden['commit']}.diff", app["third"])
    set_ref(repo, f"refs/heads/{hidden['commit']}.patch", app["third"])
    other = [path for path in READS if await answers(bob, hidden, "GET", path) != before[path]]
    assert other == []
    answer = await bob.get(f"{R}/contents/README.md?ref=refs/heads/{hidden['commit']}")
    assert answer.status_code == 200
    assert (await bob.get(f"{R}/branches/{hidden['commit']}")).json()["commit"]["id"] == app["third"]


async def test_an_id_can_be_asked_for_whatever_refs_are_called(ann, repo, app, hidden):
    for short in (app["second"][:4], app["second"][:7], app["second"][:39]):
        set_ref(repo, f"refs/heads/{short}", app["third"])
        set_ref(repo, f"refs/tags/{short}", app["first"])
        assert (await ann.get(f"{R}/git/commits/{short}")).json()["sha"] == app["third"]
        shown = await ann.get(f"{R}/git/commits/{short.upper()}?only_id=true")
        assert shown.json()["sha"] == app["second"], short
        text = await ann.get(f"{R}/git/commits/{short}.patch?only_id=true")
        assert text.text.startswith(f"From {app['second']} ")
    for name in ("master", "light", "refs/heads/master", "HEAD", hidden["commit"][:12], "0" * 7):
        assert (await ann.get(f"{R}/git/commits/{name}?only_id=true")).status_code == 404, name


async def test_a_commit_that_no_ref_reaches_makes_no_short_id_ambiguous(ann, repo, app):
    """Its id begins with the same four digits, as those of a deleted branch may."""
    short, second = app["second"][:4], repo.read(pygit2.Oid(hex=app["second"]))[1]
    for number in count():
        data = second + b"%d\n" % number
        if hashlib.sha1(b"commit %d\0%s" % (len(data), data)).hexdigest().startswith(short):
            break
    repo.write(pygit2.enums.ObjectType.COMMIT, data)
    assert (await ann.get(f"{R}/git/commits/{short}")).json()["sha"] == app["second"]


async def test_no_write_takes_a_ref_that_is_called_like_an_id_for_the_object(world, ann, repo, app):
    second = app["second"]
    for prefix in ("refs/heads/", "refs/tags/"):
        set_ref(repo, f"{prefix}{second}", app["third"])
    named = {"commit": second}
    for method, path, body in WRITES[:1] + WRITES[2:5]:
        answer = await ann.call(method, f"/api/v1{R}/{filled(path, named)}", filled(body, named))
        assert answer.status_code == 201, (path, answer.text)
        if "name" in answer.json():
            shown = await ann.get(f"{R}/git/commits/refs/{'tags' if path != 'branches' else 'heads'}/again")
            assert shown.json()["sha"] == second, path
        await ann.call("DELETE", f"/api/v1{R}/tags/again")
    moved = await ann.call(
        "PUT", f"/api/v1{R}/branches/again", {"new_commit_id": app["third"], "force": True}
    )
    assert moved.status_code == 204
    moved = await ann.call("PUT", f"/api/v1{R}/branches/again", {"new_commit_id": second, "force": True})
    assert moved.status_code == 204
    assert (await ann.get(f"{R}/branches/again")).json()["commit"]["id"] == second
    assert [row.sha for row in await world.rows("commit_status")] == [second]
    assert (await ann.get(f"{R}/statuses/refs/heads/{second}")).json() == []


LIKE_IDS = ("a" * 40, "A1" * 20, "v/" + "0" * 40, "f" * 64)
CREATIONS = (
    ("POST", "{R}/branches", {"new_branch_name": "NAME"}, "new_branch_name"),
    ("PATCH", "{R}/branches/feature/side", {"name": "NAME"}, "name"),
    ("POST", "{R}/tags", {"tag_name": "NAME"}, "tag_name"),
    ("POST", "{R}/releases", {"tag_name": "NAME"}, "tag_name"),
    ("POST", "{R}/releases", {"tag_name": "NAME", "draft": True}, "tag_name"),
    ("PATCH", "{R}/releases/{release}", {"tag_name": "NAME"}, "tag_name"),
    ("POST", "{R}/contents/new.txt", {"content": "", "new_branch": "NAME"}, "new_branch"),
    ("POST", "{R}/contents/new.txt", {"content": "", "branch": "NAME"}, "branch"),
    ("POST", "{R}/contents", {"files": [{"operation": "create", "path": "a", "content": ""}],
                              "new_branch": "NAME"}, "new_branch"),
    ("POST", "{R}/diffpatch", {"content": "", "new_branch": "NAME"}, "new_branch"),
    ("POST", "{R}/commits/{third}/revert", {"new_branch": "NAME"}, "new_branch"),
    ("PATCH", "{R}", {"default_branch": "NAME"}, "default_branch"),
    ("POST", "/user/repos", {"name": "other", "default_branch": "NAME", "auto_init": True}, "default_branch"),
)  # fmt: skip


async def test_no_request_creates_a_ref_that_is_called_like_an_id(ann, repo, app):
    release = (await ann.post(f"{R}/releases", {"tag_name": "v1.0"})).json()["id"]
    before = list(repo.references)
    for method, path, body, field in CREATIONS:
        for name in LIKE_IDS:
            sent = {key: name if value == "NAME" else value for key, value in body.items()}
            answer = await ann.call(method, "/api/v1" + path.format(R=R, release=release, **app), sent)
            errors = answer.json().get("errors", [])
            assert (answer.status_code, [one["field"] for one in errors]) == (422, [field]), (
                path,
                answer.text,
            )
            assert "like the full id of an object" in answer.text, path
    assert list(repo.references) == before
    assert (await ann.post(f"{R}/branches", {"new_branch_name": "a" * 39})).status_code == 201


async def test_no_push_creates_a_ref_that_is_called_like_an_id(ann, repo, app):
    for name in (
        "refs/heads/" + "a" * 40,
        "refs/tags/v/" + "1" * 40,
        "refs/notes/" + "b" * 40,
        "refs/heads/" + "f" * 64,
    ):
        answer = await push_by_hand(ann, "ann/app", name, app["first"])
        assert f"ng {name}" in answer
        assert "the name ends like the full id of an object" in answer
        assert name not in repo.references
        set_ref(repo, name, app["first"])  # it may be there from earlier
        assert f"ng {name}" in await push_by_hand(ann, "ann/app", name, app["second"], app["first"])
        assert f"ok {name}" in await push_by_hand(ann, "ann/app", name, ZERO_OID, app["first"])
        assert name not in repo.references
    assert "ok refs/heads/x-" in await push_by_hand(ann, "ann/app", "refs/heads/x-" + "a" * 40, app["first"])


@pytest.fixture
def bare(tmp_path):
    return pygit2.init_repository(str(tmp_path / "bare.git"), bare=True, initial_head="main")


def tag_object(repo, target, kind, name="t"):
    text = f"object {target}\ntype {kind}\ntag {name}\ntagger A <a> 1 +0000\n\nm\n"
    return str(repo.odb.write(ObjectType.TAG, text.encode()))


def id_of(kind, content):
    return hashlib.sha1(b"%s %d\0" % (kind, len(content)) + content, usedforsecurity=False).hexdigest()


def blob_with_prefix(repo, prefix):
    """A blob whose id begins with the digits."""
    contents = (b"%d" % number for number in count())
    return str(repo.create_blob(next(one for one in contents if id_of(b"blob", one).startswith(prefix))))


def tree_with_prefix(repo, prefix, blob):
    contents = (b"100644 %d\0" % number + bytes.fromhex(blob) for number in count())
    content = next(one for one in contents if id_of(b"tree", one).startswith(prefix))
    return str(repo.odb.write(ObjectType.TREE, content))


def commits_with_one_prefix(repo):
    """Two commits whose ids share their first four digits."""
    head = (
        b"tree %s\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\n"
        % str(repo.TreeBuilder().write()).encode()
    )
    by_prefix = {}
    for number in range(10_000):
        text = head + b"%d\n" % number
        by_prefix.setdefault(id_of(b"commit", text)[:4], []).append(text)
    twins = next(texts for texts in by_prefix.values() if len(texts) == 2)
    return [str(repo.odb.write(ObjectType.COMMIT, text)) for text in twins]


def commit_of_git(repo, name):
    """Return git's own resolution of a name; empty if there is none."""
    command = ["git", "--git-dir", repo.path, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def commit_of_ours(repo, name):
    try:
        return named_ref(repo, name).commit
    except RefNotFound:
        return ""


DIFFERENT = {
    "both": "a branch wins over a tag of its name",
    **dict.fromkeys(("heads/odd", "tags/v1"), "a branch wins over what is named with its folder"),
    "f" * 64: "an id of SHA-256 is never a ref",
    **dict.fromkeys(("too-deep", "tags/too-deep", "refs/tags/too-deep"), "so many tags are not followed"),
    "@": "there are no operators",
    "main~0": "there are no operators",
}
"""Names that git resolves in another way, and why."""


@pytest.fixture
def names(bare):
    """Names of every kind, by their refs and objects."""
    one, two, three = (commit(bare, {"a": b"%d" % n}, (), f"{n}\n") for n in range(3))
    blob, tree = blob_with_prefix(bare, one[:4]), tree_with_prefix(bare, two[:4], str(bare[one].tree["a"].id))
    twins = commits_with_one_prefix(bare)
    tags = {
        "tree": tag_object(bare, tree, "tree"),
        "blob": tag_object(bare, blob, "blob"),
        "v1": tag_object(bare, one, "commit"),
    }
    tags["of-tree"] = tag_object(bare, tags["tree"], "tag")
    at = three
    for depth in range(DEEPEST + 1):
        at = tag_object(bare, at, "tag" if depth else "commit", f"d{depth}")
        tags |= {f"d{depth}": at} if depth in (7, 8, 9, DEEPEST - 1) else {}
    tags["too-deep"] = at
    refs = {f"refs/tags/{name}": oid for name, oid in tags.items()} | {
        "refs/heads/main": one, "refs/heads/x": two, "refs/heads/refs/heads/x": three,
        "refs/heads/refs/heads/y": three, "refs/heads/heads/odd": one, "refs/heads/odd": two,
        "refs/heads/tags/v1": two, "refs/tags/heads/z": three, "refs/heads/both": one, "refs/tags/both": two,
        "refs/heads/x.diff": three, "refs/tags/light": two,
        f"refs/heads/{one}": two, f"refs/tags/{two}": three, f"refs/heads/{three.upper()}": one,
        "refs/heads/" + "f" * 64: two, "refs/heads/" + "e" * 40: two, f"refs/heads/x-{one}": two,
        f"refs/heads/in/{one}": three, f"refs/tags/{three[:9]}": one, "refs/heads/t0": twins[0],
        "refs/heads/t1": twins[1], "refs/tags/lone-tree": tree, "refs/tags/lone-blob": blob,
        "refs/pull/7/head": three, "refs/notes/commits": two,
    }  # fmt: skip
    for name, oid in refs.items():
        set_ref(bare, name, oid)
    ids = [one, two, three, *twins, tree, blob, *tags.values()]
    ids.remove(at)
    shorts = [oid[:length] for oid in ids for length in (4, 5, 9, 39)]
    short_names = [
        name.removeprefix(folder) for name in refs for folder in ("refs/", "refs/heads/", "refs/tags/")
    ]
    others = [
        "HEAD",
        "none",
        "heads/none",
        "refs/heads/none",
        "refs/heads",
        "refs/",
        "heads/",
        "/x",
        "x/",
        "x/y",
        "0" * 40,
        "abc",
    ]
    return sorted({*refs, *short_names, *ids, *map(str.upper, ids), *shorts, *others, *DIFFERENT})


def test_names_mean_what_git_says(bare, names):
    differing = {name for name in names if commit_of_ours(bare, name) != commit_of_git(bare, name)}
    assert differing == DIFFERENT.keys()
    assert len(names) > 150
    assert sum(bool(commit_of_ours(bare, name)) for name in names) > 70


def test_a_full_id_means_the_object_whatever_refs_are_called(bare):
    one, two = commit(bare, {"f": b"1"}), commit(bare, {"f": b"2"})
    for ref in (
        "refs/heads/main",
        f"refs/heads/{one}/x",
        f"refs/tags/{one}",
        "refs/heads/" + "1" * 40,
        "refs/tags/" + "2" * 64,
    ):
        set_ref(bare, ref, two)
    set_ref(bare, "refs/heads/old", one)
    for text in (one, one.upper()):
        assert (named_ref(bare, text).kind, named_ref(bare, text).commit) == ("commit", one)
        assert split_named_path(bare, f"{text}/x/f")[0].commit == one
    for ref in (f"refs/tags/{one}", "refs/heads/" + "1" * 40, "refs/tags/" + "2" * 64, "heads/" + "1" * 40):
        assert named_ref(bare, ref).commit == two
        assert ref.startswith("heads/") or split_named_path(bare, f"{ref}/f")[0].commit == two
    for text in ("1" * 40, "2" * 64):
        with pytest.raises(RefNotFound):
            named_ref(bare, text)
        with pytest.raises(RefNotFound):
            split_named_path(bare, f"{text}/f")


def test_a_tag_object_means_its_commit_while_a_tag_leads_to_it(bare):
    one = commit(bare, {"f": b"1"})
    set_ref(bare, "refs/heads/main", one)
    inner = tag_object(bare, one, "commit")
    set_ref(bare, "refs/tags/outer", tag_object(bare, inner, "tag"))
    assert named_ref(bare, inner).commit == one
    hidden = tag_object(bare, one, "commit", "hidden")
    for text in (hidden, hidden[:12]):
        with pytest.raises(RefNotFound):
            named_ref(bare, text)


def test_the_root_of_a_tag_of_a_tree_is_the_tree(bare):
    one = commit(bare, {"f": b"1"})
    tree = str(bare[one].tree_id)
    set_ref(bare, "refs/heads/main", one)
    set_ref(bare, "refs/tags/tree", tag_object(bare, tag_object(bare, tree, "tree"), "tag"))
    set_ref(bare, "refs/tags/blob", tag_object(bare, str(bare[one].tree["f"].id), "blob"))
    assert named_root(bare, "tree") == named_root(bare, "refs/tags/tree") == (tree, tree)
    assert named_root(bare, "main") == (one, tree)
    with pytest.raises(RefNotFound):
        named_root(bare, "blob")


def test_paths_are_split_at_the_first_name_that_exists(bare):
    main, branch, tag = (commit(bare, {"a": text}) for text in (b"m", b"b", b"t"))
    set_ref(bare, "refs/heads/main", main)
    set_ref(bare, "refs/heads/feature/x", branch)
    set_ref(bare, "refs/tags/feature", tag)
    set_ref(bare, "refs/tags/v1", tag)
    set_ref(bare, "refs/tags/docs", tag_object(bare, str(bare[main].tree_id), "tree"))

    def split(text):
        resolved, rest = split_named_path(bare, text)
        return resolved.kind, resolved.commit, rest

    assert split("main/a/b.txt") == ("branch", main, "a/b.txt")
    assert split("feature/x/a") == ("branch", branch, "a")
    # A branch wins, even if its name is longer than that of a tag.
    assert split("feature/y") == ("tag", tag, "y")
    assert split("v1/a") == ("tag", tag, "a")
    assert split(f"{branch}/a//b") == ("commit", branch, "a//b")
    assert split("docs/a") == ("branch", main, "docs/a")
    assert split("../a") == ("branch", main, "../a")
    assert split("refs/heads/feature/x/a") == ("branch", branch, "a")
    assert split("refs/tags/v1/a") == ("tag", tag, "a")
    assert split("refs/heads/none/a") == ("branch", main, "refs/heads/none/a")
    assert split("heads/main/a") == ("branch", main, "heads/main/a")
    assert split("main") == ("branch", main, "")
    assert split("HEAD/a") == ("branch", main, "a")
    with pytest.raises(RefNotFound):
        split("1" * 40 + "/a")


def test_nothing_resolves_in_an_empty_repository(bare):
    for text in ("README.md", "HEAD/README.md"):
        with pytest.raises(RefNotFound):
            split_named_path(bare, text)
    with pytest.raises(RefNotFound):
        named_ref(bare, "HEAD")
