"""Tags by the API."""

import pytest
from pygit2.enums import ObjectType

from ingot_git.refs.refs import set_ref
from ingot_git.refs.tag_targets import DEEPEST
from ingot_git.testing.builders import commit
from ingot_testing.service import count_statements

from ..code_world import opened, repository_with_history
from ..world import git

T = "/api/v1/repos/ann/app/tags"


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


@pytest.mark.parametrize("name", ["SSH", "PGP"])
async def test_the_signature_of_a_tag_is_no_part_of_its_message(world, ann, app, name):
    repo = opened(world, app["id"])
    signature = f"-----BEGIN {name} SIGNATURE-----\nx\n-----END {name} SIGNATURE-----\n"
    head = f"object {app['second']}\ntype commit\ntag signed\ntagger Ann <ann@example.org> 1600000000 +0000"
    tag = repo.write(ObjectType.TAG, f"{head}\n\nsigned words\n{signature}".encode())
    set_ref(repo, "refs/tags/signed", str(tag))
    assert (await ann.get("/repos/ann/app/tags/signed")).json()["message"] == "signed words"
    shown = {one["name"]: one["message"] for one in (await ann.get("/repos/ann/app/tags")).json()}
    assert shown["signed"] == "signed words"


async def test_tags_are_listed_newest_first(ann, app):
    answer = await ann.get("/repos/ann/app/tags")
    assert answer.headers["x-total-count"] == "2"
    annotated, light = answer.json()
    assert annotated == {
        "name": "v1.0",
        "message": "version one",
        "id": app["tag"],
        "commit": {
            "url": f"http://ingot.test/api/v1/repos/ann/app/git/commits/{app['second']}",
            "sha": app["second"],
            "created": "2020-02-02T22:35:06Z",
        },
        "zipball_url": "http://ingot.test/ann/app/archive/v1.0.zip",
        "tarball_url": "http://ingot.test/ann/app/archive/v1.0.tar.gz",
    }
    for url in (annotated["zipball_url"], annotated["tarball_url"]):
        assert (await ann.call("GET", url.removeprefix("http://ingot.test"))).status_code == 200
    assert (light["name"], light["id"], light["message"]) == ("light", app["first"], "first")
    second = await ann.get("/repos/ann/app/tags?limit=1&page=2")
    assert [one["name"] for one in second.json()] == ["light"]


async def test_one_tag_and_its_object(world, ann, app):
    assert (await ann.get("/repos/ann/app/tags/v1.0")).json()["commit"]["sha"] == app["second"]
    for name in ("none", "master", "v1.0/x", "%FF", "-x", "a%2F..%2Fv1.0", "x" * 3000):
        assert (await ann.get(f"/repos/ann/app/tags/{name}")).status_code == 404, name
    shown = (await ann.get(f"/repos/ann/app/git/tags/{app['tag']}")).json()
    assert (shown["tag"], shown["message"], shown["object"]["sha"], shown["object"]["type"]) == (
        "v1.0", "version one\n", app["second"], "commit",
    )  # fmt: skip
    assert shown["tagger"] == {"name": "Tagger", "email": "ann@example.org", "date": "2020-09-13T12:26:40Z"}
    opened(world, app["id"]).references.delete("refs/tags/v1.0")
    for sha in (app["tag"], app["first"], "0" * 40, "v1.0", "--all"):
        assert (await ann.get(f"/repos/ann/app/git/tags/{sha}")).status_code == 404, sha


async def test_a_tag_is_created_and_deleted_like_by_a_push(world, ann, app):
    answer = await ann.call("POST", T, {"tag_name": "rel/2", "target": "feature/side"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["id"] == answer.json()["commit"]["sha"] == app["side"]
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["after"]) == ("refs/tags/rel/2", app["side"])
    body = {"tag_name": "v2", "message": "two\n\nmore", "target": app["second"]}
    annotated = (await ann.call("POST", T, body)).json()
    assert (annotated["message"], annotated["commit"]["sha"]) == ("two\n\nmore", app["second"])
    shown = (await ann.get(f"/repos/ann/app/git/tags/{annotated['id']}")).json()
    assert (shown["tagger"]["name"], shown["tagger"]["email"]) == ("Ann", "ann@example.org")
    default = (await ann.call("POST", T, {"tag_name": "v3"})).json()
    assert default["commit"]["sha"] == app["third"]
    assert (await ann.call("DELETE", f"{T}/rel/2")).status_code == 204
    assert (await ann.call("DELETE", f"{T}/rel/2")).status_code == 404
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["before"], event["after"]) == ("refs/tags/rel/2", app["side"], "0" * 40)


async def test_tags_are_found_by_a_part_of_their_names(ann, app):
    tags = "/repos/ann/app/tags"
    every = {one["name"] for one in (await ann.get(tags)).json()}
    for part in ("V1", "zzz"):
        answer = await ann.get(f"{tags}?q={part}")
        matches = [one["name"] for one in answer.json()]
        assert sorted(matches) == sorted(name for name in every if part.lower() in name.lower())
        assert answer.headers["x-total-count"] == str(len(matches))


async def test_tags_that_cannot_be(world, ann, app):
    for body, status in [
        ({"tag_name": "v1.0"}, 409),
        ({"tag_name": "v1.0/x"}, 409),
        ({"tag_name": ""}, 422),
        ({}, 422),
        ({"tag_name": "-x"}, 422),
        ({"tag_name": "a..b"}, 422),
        ({"tag_name": "x" * 256}, 422),
        ({"tag_name": "x", "target": "none"}, 404),
        ({"tag_name": "x", "target": "1" * 40}, 404),
        ({"tag_name": "x", "message": "m" * 70_000}, 422),
    ]:
        answer = await ann.call("POST", T, body)
        assert answer.status_code in (status, 400 if body == {} else status), (body, answer.text)
    assert len(await world.events("push")) == 4


async def test_a_tag_of_a_release_stays(ann, app):
    release = await ann.call("POST", "/api/v1/repos/ann/app/releases", {"tag_name": "v1.0"})
    assert release.status_code == 201, release.text
    assert (await ann.call("DELETE", f"{T}/v1.0")).status_code == 409
    await ann.call("DELETE", f"/api/v1/repos/ann/app/releases/{release.json()['id']}")
    assert (await ann.call("DELETE", f"{T}/v1.0")).status_code == 204


async def test_who_may_tag(world, ann, bob):
    await repository_with_history(world, ann)
    for number, (person, status) in enumerate([
        (world.user(0, ""), 401), (bob, 403), (ann.but(restricted_to=[99]), 403),
        (ann.but(scopes=["read:repository"]), 403), (ann, 201),
    ]):  # fmt: skip
        assert (await person.call("POST", T, {"tag_name": f"t{number}"})).status_code == status
        deleted = await person.call("DELETE", f"{T}/light")
        assert deleted.status_code == (204 if status == 201 else status)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    assert (await ann.call("POST", T, {"tag_name": "late"})).status_code == 403
    assert (await ann.call("DELETE", f"{T}/v1.0")).status_code == 403
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": False, "private": True})
    for path in (T, f"{T}/v1.0"):
        assert (await bob.call("GET", path)).status_code == 404


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_page_of_tags_is_one_statement_and_tags_of_no_commit_are_left_out(world, ann, app, git_log):
    repo = opened(world, app["id"])
    for number in range(120):
        set_ref(repo, f"refs/tags/n{number:03}", app["first"])
    set_ref(repo, "refs/tags/tree", str(repo[commit(repo, {"a": b"1"})].tree_id))
    git_log.clear()
    with count_statements(world.database) as statements:
        answer = await ann.get("/repos/ann/app/tags?limit=50")
    assert (len(answer.json()), answer.headers["x-total-count"]) == (50, "122")
    assert len(statements) == 1
    assert list(git_log) == []
    assert (await ann.get("/repos/ann/app/tags/tree")).status_code == 404


R = "/repos/ann/app"
OF_NO_COMMIT = ("tree", "of-tree", "blob", "of-blob", "lone-tree", "lone-blob", "too-deep")
READS_OF_COMMITS = (
    "raw/refs/tags/{name}/README.md", "raw/README.md?ref={name}", "media/README.md?ref={name}",
    "archive/{name}.zip", "archive/{name}.tar.gz", "archive/{name}.bundle",
    "contents?ref={name}", "contents/README.md?ref={name}", "contents-ext?ref={name}",
    "contents-ext/README.md?ref={name}",
    "file-contents?ref={name}&body=%7B%22files%22:%5B%22README.md%22%5D%7D",
    "blame/README.md?ref={name}", "editorconfig/README.md?ref={name}",
    "commits?sha={name}", "commits?not={name}", "commits/{name}/status", "commits/{name}/statuses",
    "statuses/{name}", "git/commits/{name}", "git/commits/refs/tags/{name}", "git/commits/{name}.diff",
    "git/commits/{name}.patch", "git/notes/{name}", "compare/master...{name}", "compare/{name}...master",
    "compare/master..{name}?output=diff", "compare/{name}..master?output=patch", "tags/{name}",
)  # fmt: skip
WRITES = (
    ("POST", "branches", {"new_branch_name": "new", "old_ref_name": "{name}"}, 404),
    ("PUT", "branches/master", {"new_commit_id": "{name}", "force": True}, 404),
    ("POST", "tags", {"tag_name": "new", "target": "{name}"}, 404),
    ("POST", "tags", {"tag_name": "{name}"}, 409),
    ("POST", "releases", {"tag_name": "new", "target_commitish": "{name}"}, 422),
    ("POST", "releases", {"tag_name": "{name}"}, 422),
    ("POST", "statuses/{name}", {"state": "success"}, 404),
    ("POST", "contents/new.txt", {"content": "", "branch": "{name}", "new_branch": "new"}, 404),
    ("POST", "commits/{name}/revert", {"new_branch": "new"}, 404),
)


def tag_of(repo, target, kind, name="t"):
    text = f"object {target}\ntype {kind}\ntag {name}\ntagger A <a@b> 1 +0000\n\nabout {name}\n"
    return str(repo.odb.write(ObjectType.TAG, text.encode()))


@pytest.fixture
def odd_tags(world, app):
    """Tags of a tree, of a blob, of these tags, and of commits behind many tags; ids by name."""
    repo = opened(world, app["id"])
    tree = repo[app["third"]].tree
    blob = str(tree["README.md"].id)
    oids = {
        "lone-tree": str(tree.id),
        "lone-blob": blob,
        "tree": tag_of(repo, tree.id, "tree"),
        "blob": tag_of(repo, blob, "blob"),
    }
    oids |= {f"of-{name}": tag_of(repo, oids[name], "tag") for name in ("tree", "blob")}
    at = tag_of(repo, app["second"], "commit")
    for depth in range(2, DEEPEST + 2):
        at = tag_of(repo, at, "tag", f"deep{depth}")
        oids |= {f"deep{depth}": at} if depth in (8, 9, DEEPEST) else {}
    oids["too-deep"] = at
    for name, oid in oids.items():
        set_ref(repo, f"refs/tags/{name}", oid)
    return oids


async def test_a_tag_of_no_commit_is_not_found_where_a_commit_is_needed(ann, app, odd_tags):
    for name in OF_NO_COMMIT:
        for path in READS_OF_COMMITS:
            answer = await ann.get(f"{R}/{path.format(name=name)}")
            assert answer.status_code == 404, (name, path, answer.text)
        for method, path, body, status in WRITES:
            sent = {
                key: value.format(name=name) if isinstance(value, str) else value
                for key, value in body.items()
            }
            answer = await ann.call(method, f"/api/v1{R}/{path.format(name=name)}", sent)
            assert answer.status_code == status, (name, path, answer.text)
    listed = [one["name"] for one in (await ann.get(f"{R}/tags?limit=50")).json()]
    assert sorted(listed) == sorted({"v1.0", "light", *odd_tags}.difference(OF_NO_COMMIT))


async def test_a_tag_behind_many_tags_is_of_its_commit(ann, app, odd_tags):
    expected = {
        path: (await ann.get(f"{R}/{path.format(name='v1.0')}")).status_code for path in READS_OF_COMMITS
    }
    assert sorted(expected.values()) == [200] * (len(expected) - 2) + [404] * 2  # no notes, no .editorconfig
    for name in ("deep8", "deep9", f"deep{DEEPEST}"):
        for path, status in expected.items():
            answer = await ann.get(f"{R}/{path.format(name=name)}")
            assert answer.status_code == status, (name, path, answer.text)
        assert (await ann.get(f"{R}/git/commits/{name}")).json()["sha"] == app["second"]
        shown = (await ann.get(f"{R}/tags/{name}")).json()
        assert (shown["id"], shown["commit"]["sha"]) == (odd_tags[name], app["second"])
        release = await ann.post(f"{R}/releases", {"tag_name": name})
        assert release.status_code == 201, release.text


async def test_what_a_tag_of_no_commit_has_can_be_read_as_git_data(ann, app, odd_tags):
    for name in ("tree", "of-tree", "lone-tree"):
        for text in (name, f"refs/tags/{name}"):
            shown = (await ann.get(f"{R}/git/trees/{text}")).json()
            assert (shown["sha"], "README.md" in [one["path"] for one in shown["tree"]]) == (
                odd_tags["lone-tree"],
                True,
            )
        inside = (await ann.get(f"{R}/git/trees/{name}:src?recursive=true")).json()
        assert [one["path"] for one in inside["tree"]] == ["deep", "deep/x.txt", "main.py"]
    for name in ("blob", "of-blob", "lone-blob", "too-deep"):
        assert (await ann.get(f"{R}/git/trees/{name}")).status_code == 404
    assert (await ann.get(f"{R}/git/blobs/{odd_tags['lone-blob']}")).status_code == 200
    assert (await ann.get(f"{R}/git/trees/{odd_tags['lone-tree']}")).status_code == 200
    kinds = {
        name: (await ann.get(f"{R}/git/tags/{oid}")).json().get("object", {}).get("type")
        for name, oid in odd_tags.items()
    }
    assert [kinds[name] for name in ("tree", "of-tree", "blob", "lone-tree", "too-deep")] == [
        "tree",
        "tag",
        "blob",
        None,
        "tag",
    ]
    listed = {one["ref"]: one["object"]["type"] for one in (await ann.get(f"{R}/git/refs/tags")).json()}
    assert [listed[f"refs/tags/{name}"] for name in ("tree", "lone-tree", "lone-blob")] == [
        "tag",
        "tree",
        "blob",
    ]


async def test_a_repository_with_tags_of_anything_is_forked(world, bob, app, odd_tags):
    fork = await bob.post(f"{R}/forks")
    assert fork.status_code == 202, fork.text
    await world.components.workers.step()
    listed = {
        one["ref"]: one["object"]["sha"] for one in (await bob.get("/repos/bob/app/git/refs/tags")).json()
    }
    assert {f"refs/tags/{name}": oid for name, oid in odd_tags.items()}.items() <= listed.items()
    assert (await bob.get("/repos/bob/app/contents")).status_code == 200


async def test_tags_of_anything_are_pushed_and_announced(world, ann, git_url, tmp_path, app, odd_tags):
    work, url = tmp_path / "clone", f"{git_url}/ann/app.git"
    await git("clone", "-q", url, str(work), cwd=tmp_path, person=ann)
    await ann.create("other")
    code, said = await git(
        "push", f"{git_url}/ann/other.git", "master", "refs/tags/*", cwd=work, person=ann, check=False
    )
    assert code == 0, said
    tips = {
        event["ref"]: event["after"]
        for event in await world.events("push")
        if event["repository"]["name"] == "other"
    }
    assert {f"refs/tags/{name}": oid for name, oid in odd_tags.items()}.items() <= tips.items()
