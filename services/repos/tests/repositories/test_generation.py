"""Repositories from templates."""

from base64 import b64encode

import pytest

from ingot_git.changes import template_copies
from ingot_git.changes.template_copies import MOST_PATTERN_BYTES, TOO_LARGE
from ingot_git.testing.builders import commit, set_branches

from ..code_world import opened, repository_with_history

T = "/repos/ann/seed"
FILES = {
    ".gitea/template": "# what is filled in\n**.md\nsrc/**\n*.bin\n[\n",
    "README.md": "$REPO_NAME by ${REPO_OWNER}, from $TEMPLATE_NAME; $NOTHING ${REPO_NAME_SNAKE} $YEARS\n",
    "src/${REPO_NAME_PASCAL}.py": "class ${REPO_NAME_PASCAL}: ...\n",
    "src/$REPO_DESCRIPTION": "x",
    "raw.txt": "$REPO_NAME\n",
}


@pytest.fixture
async def seed(ann):
    """ann/seed, a template with files, topics and a rule."""
    await ann.create("seed", auto_init=True, template=True, description="Seeds")
    files = [
        {"operation": "create", "path": path, "content": b64encode(text.encode()).decode()}
        for path, text in FILES.items()
        if path != "README.md"
    ]
    readme = (await ann.get(f"{T}/contents/README.md")).json()
    content = b64encode(FILES["README.md"].encode()).decode()
    files.append({"operation": "update", "path": "README.md", "content": content, "sha": readme["sha"]})
    answer = await ann.post(f"{T}/contents", {"files": files, "message": "x"})
    assert answer.status_code == 201, answer.text
    await ann.call("PUT", f"/api/v1{T}/topics", {"topics": ["one", "two"]})
    await ann.post(f"{T}/branch_protections", {"rule_name": "release/*", "enable_push": True})


async def test_a_repository_is_made_from_a_template(world, bob, seed):
    body = {
        "owner": "bob",
        "name": "my-new App",
        "description": "../../etc",
        "git_content": True,
        "topics": True,
        "labels": True,
    }
    assert (await bob.post(f"{T}/generate", body)).status_code == 422
    answer = await bob.post(f"{T}/generate", body | {"name": "my-newApp", "private": True})
    assert answer.status_code == 201, answer.text
    repository = answer.json()
    assert (repository["full_name"], repository["private"], repository["template"], repository["fork"]) == (
        "bob/my-newApp",
        True,
        False,
        False,
    )
    tree = (await bob.get("/repos/bob/my-newApp/git/trees/master?recursive=true")).json()
    assert [entry["path"] for entry in tree["tree"] if entry["type"] == "blob"] == [
        "README.md",
        "raw.txt",
        "src/$REPO_DESCRIPTION",
        "src/MyNewApp.py",
    ]
    readme = (await bob.get("/repos/bob/my-newApp/raw/README.md")).text
    assert readme == "my-newApp by bob, from seed; $NOTHING my_new_app $YEARS\n"
    assert (await bob.get("/repos/bob/my-newApp/raw/raw.txt")).text == "$REPO_NAME\n"
    commits = (await bob.get("/repos/bob/my-newApp/commits")).json()
    assert [commit["author"]["login"] for commit in commits] == ["bob"]
    assert (await bob.get("/repos/bob/my-newApp/topics")).json() == {"topics": ["one", "two"]}
    template_id = (await bob.get(T)).json()["id"]
    assert (await world.events("repository.created"))[-1]["labels_of"] == template_id


async def test_protections_are_copied_for_those_who_may_see_them(world, ann, bob, seed):
    body = {"owner": "ann", "name": "copy", "protected_branch": True}
    assert (await ann.post(f"{T}/generate", body)).status_code == 201
    assert [rule["rule_name"] for rule in (await ann.get("/repos/ann/copy/branch_protections")).json()] == [
        "release/*"
    ]
    assert (await ann.get("/repos/ann/copy")).json()["empty"] is True
    assert (await bob.post(f"{T}/generate", body | {"owner": "bob"})).status_code == 403


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("part", ["webhooks", "git_hooks", "avatar"])
async def test_parts_that_a_template_cannot_have_are_not_copied(ann, bob, seed, part):
    for number, body in enumerate(({part: True}, {part: True, "git_content": True})):
        answer = await bob.post(f"{T}/generate", {"owner": "bob", "name": f"new{number}", **body})
        assert (answer.status_code, answer.json().get("empty")) == (201, not number), answer.text


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_cannot_be_generated_is_named(world, ann, bob, seed):
    world.organization(9, "acme")
    whole = {"owner": "bob", "name": "new", "git_content": True}
    for body, status, field in (
        ({"owner": "bob", "name": "new"}, 422, "git_content"),
        (whole | {"owner": "nobody"}, 422, "owner"),
        (whole | {"owner": "acme"}, 403, None),
        (whole | {"owner": "ann"}, 403, None),
        (whole | {"name": ""}, 422, "name"),
        (whole | {"default_branch": "a..b"}, 422, "default_branch"),
        ({"owner": "bob"}, 422, "name"),
    ):
        answer = await bob.post(f"{T}/generate", body)
        assert answer.status_code == status, answer.text
        assert field is None or answer.json()["errors"][0]["field"] == field
    assert (await bob.post(f"{T}/generate", whole)).status_code == 201
    taken = await bob.post(f"{T}/generate", whole)
    assert (taken.status_code, taken.json()["errors"][0]["field"]) == (409, "name")
    await ann.call("PATCH", f"/api/v1{T}", {"template": False})
    assert (await bob.post(f"{T}/generate", whole | {"name": "other"})).status_code == 422
    await ann.call("PATCH", f"/api/v1{T}", {"template": True, "private": True})
    assert (await bob.post(f"{T}/generate", whole | {"name": "other"})).status_code == 404


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_no_template_takes_without_end(world, ann, bob, monkeypatch):
    monkeypatch.setattr(template_copies, "MOST_BYTES", 100_000)
    seed = await repository_with_history(world, ann, "seed", template=True)
    repo = opened(world, seed["id"])
    long_paths = {f"{number}{'a' * 150}": b"x" for number in range(40)}
    body = {"owner": "bob", "git_content": True, "description": "d" * 255}
    for case, (patterns, files, message) in {
        "many-stars": (b"**" * 120 + b"x\n", long_paths, None),
        "very-many-stars": ((b"**" * 120 + b"x\n") * 60, long_paths, "too many patterns"),
        "many-patterns": (b"a\n" * MOST_PATTERN_BYTES, {}, "too large"),
        "many-braces": (b"{a}" * 3000 + b"\n**.md", {"a.md": b"$REPO_NAME"}, None),
        "many-names": (b"**.md", {"a.md": b"$REPO_DESCRIPTION" * 1000}, TOO_LARGE),
    }.items():
        set_branches(repo, master=commit(repo, {".gitea/template": patterns} | files))
        answer = await bob.post(f"{T}/generate", body | {"name": case})
        assert answer.status_code == (422 if message else 201), (case, answer.text)
        if message:
            error = answer.json()["errors"][0]
            assert (error["field"], message in error["message"]) == ("git_content", True), case
            assert (await bob.get(f"/repos/bob/{case}")).status_code == 404
    assert (await bob.get("/repos/bob/many-braces/raw/a.md")).text == "many-braces"


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_no_template_brings_a_file_that_a_push_may_not_bring(world, ann, bob):
    seed = await repository_with_history(world, ann, "seed", template=True)
    modules = b'[submodule "x"]\n\tpath = $REPO_DESCRIPTION\n\turl = https://example.org/x\n'
    files = {".gitea/template": b".gitmodules\n", ".gitmodules": modules}
    set_branches(opened(world, seed["id"]), master=commit(opened(world, seed["id"]), files))
    body = {"owner": "bob", "name": "new", "git_content": True}
    answer = await bob.post(f"{T}/generate", body | {"description": "-x"})
    assert (answer.status_code, answer.json()["errors"][0]) == (
        422,
        {
            "field": "git_content",
            "code": "unsafe",
            "message": ".gitmodules: disallowed submodule path: -x (gitmodulesPath)",
        },
    )
    assert (await bob.get("/repos/bob/new")).status_code == 404
    assert (await bob.post(f"{T}/generate", body | {"description": "x"})).status_code == 201
