"""The git repository of a wiki over SSH."""

import pytest

from ..ssh_world import Client, Key, ssh_before
from ..world import commit, work_tree

REFUSED = "there is no repository ann/app.wiki"


@pytest.fixture
async def port(world):
    async with ssh_before(world) as port:
        yield port


@pytest.fixture
async def work(ann, tmp_path):
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "Home.md", "hello\n")
    return work


@pytest.fixture
def client_of(world, tmp_path, port):
    def make(name, account):
        key = Key(tmp_path, name)
        if account:
            world.identity.ssh_keys[key.public.fingerprint] = (account, name)
        return Client(tmp_path, port, key)

    return make


async def add_deploy_key(person, client, *, read_only):
    text = client.key.public.content
    answer = await person.post(
        "/repos/ann/app/keys", {"title": str(read_only), "key": text, "read_only": read_only}
    )
    assert answer.status_code == 201, answer.text


async def test_a_user_pushes_and_clones_a_wiki_by_key(world, ann, client_of, work, tmp_path):
    client = client_of("ann", 1)
    remote = client.url("ann/app.wiki.git")
    code, said = await client.git("clone", remote, "none", cwd=tmp_path)
    assert code != 0
    assert "the wiki has no pages yet" in said or REFUSED in said
    code, said = await client.git("push", remote, "master", cwd=work)
    assert code == 0, said
    assert [page["title"] for page in (await ann.get("/repos/ann/app/wiki/pages")).json()] == ["Home"]
    code, said = await client.git("clone", remote, "copy", cwd=tmp_path)
    assert code == 0, said
    assert (tmp_path / "copy" / "Home.md").read_text() == "hello\n"
    await commit(tmp_path / "copy", "Next.md", "more")
    code, said = await client.git("push", cwd=tmp_path / "copy")
    assert code == 0, said


async def test_a_reader_does_not_push_and_a_stranger_sees_no_private_wiki(
    world, ann, bob, client_of, work, tmp_path
):
    ann_client, bob_client = client_of("ann", 1), client_of("bob", 2)
    remote = ann_client.url("ann/app.wiki.git")
    await ann_client.git("push", remote, "master", cwd=work)
    code, said = await bob_client.git("push", remote, "HEAD:refs/heads/other", cwd=work)
    assert (code != 0, "write access" in said) == (True, True), said
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    code, said = await bob_client.git("clone", remote, "copy", cwd=tmp_path)
    assert (code != 0, REFUSED in said) == (True, True), said


async def test_deploy_keys_open_the_wiki_unless_it_is_off(ann, client_of, work, tmp_path):
    writing, reading = client_of("writing", 0), client_of("reading", 0)
    await add_deploy_key(ann, writing, read_only=False)
    await add_deploy_key(ann, reading, read_only=True)
    remote = writing.url("ann/app.wiki.git")
    code, said = await writing.git("push", remote, "master", cwd=work)
    assert code == 0, said
    code, _ = await reading.git("clone", "-q", remote, "copy", cwd=tmp_path)
    assert code == 0
    code, said = await reading.git("push", remote, "HEAD:refs/heads/x", cwd=work)
    assert (code != 0, "may only read" in said) == (True, True), said
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"has_wiki": False})
    for client in (writing, reading, client_of("ann", 1)):
        code, said = await client.git("ls-remote", remote, cwd=tmp_path)
        assert (code != 0, REFUSED in said) == (True, True), said
