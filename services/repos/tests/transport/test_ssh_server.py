"""git over SSH with the real git and ssh: who gets in, what runs, and that it is the same as over HTTP."""

import asyncio
import os
import socket

import asyncssh
import msgspec
import pytest
from sqlalchemy import update

from ingot_git.protocol import fetch_cache
from ingot_git.testing.builders import COSTLY, set_branches
from ingot_git.testing.builders import commit as commit_files
from ingot_repos.access.rules import deploy_keys
from ingot_repos.access.store.deploy_keys import deploy_key
from ingot_repos.catalog.store.tables import account
from ingot_ssh.upstreams import AppUpstream
from ingot_testing.metrics import value_of
from ingot_testing.processes import free_port
from ingot_wire.client import Origin

from ..ssh_world import Client, Key, ssh_before, ssh_server
from ..world import commit, git, work_tree

REFUSED = "there is no repository"


@pytest.fixture
async def port(world):
    async with ssh_before(world) as port:
        yield port


@pytest.fixture
def client_of(world, tmp_path, port):
    """Return a client with a new key, of a user or of no account."""

    def make(name, *options, account=0):
        key = Key(tmp_path, name)
        if account:
            world.identity.ssh_keys[key.public.fingerprint] = (account, f"laptop of {name}")
        return Client(tmp_path, port, key, *options)

    return make


@pytest.fixture
async def work(tmp_path):
    work = await work_tree(tmp_path)
    await commit(work, "a.txt", "one\n")
    return work


async def test_a_ref_that_is_called_like_an_id_is_refused(world, ann, client_of, work):
    await ann.create("app")
    client, name = client_of("ann", account=1), "a" * 40
    code, said = await client.git(
        "push", client.url("ann/app.git"), "master", f"master:refs/heads/{name}", cwd=work
    )
    assert code != 0
    assert "the name ends like the full id of an object" in said
    assert (await ann.get("/repos/ann/app/branches/master")).status_code == 200
    assert (await ann.get(f"/repos/ann/app/branches/{name}")).status_code == 404


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_user_pushes_and_clones_by_key(world, ann, client_of, work, tmp_path, version):
    await ann.create("app", private=True)
    client = client_of("ann", account=1)
    remote = client.url("ann/app.git")
    code, said = await client.git("push", remote, "master", cwd=work, protocol=version)
    assert code == 0, said
    assert "[new branch]" in said
    events = [event for event in await world.events("push") if event["ref"] == "refs/heads/master"]
    assert [event["pusher"]["login"] for event in events] == ["ann"]
    assert (await ann.get("/repos/ann/app/branches/master")).status_code == 200
    code, said = await client.git("push", remote, "master", cwd=work, protocol=version)
    assert (code, "Everything up-to-date" in said) == (0, True)
    code, said = await client.git("clone", "-q", remote, "copy", cwd=tmp_path, protocol=version)
    assert code == 0, said
    assert (tmp_path / "copy" / "a.txt").read_text() == "one\n"
    await commit(work, "b.txt", "x" * 3_000_000)
    code, said = await client.git(
        "push", "-f", remote, "master", "HEAD:refs/tags/v1", cwd=work, protocol=version
    )
    assert code == 0, said
    code, said = await client.git("pull", "-q", cwd=tmp_path / "copy", protocol=version)
    assert code == 0, said
    assert (tmp_path / "copy" / "b.txt").stat().st_size == 3_000_000
    assert await world.rows("push") == []


async def test_access_is_decided_as_over_http(world, ann, bob, client_of, work, tmp_path):
    await ann.create("open")
    await ann.create("closed", private=True)
    ann_client, bob_client = client_of("ann", account=1), client_of("bob", account=2)
    for name in ("open", "closed"):
        assert (await ann_client.git("push", "-q", ann_client.url(f"ann/{name}"), "master", cwd=work))[0] == 0
    code, said = await bob_client.git("clone", bob_client.url("ann/open"), "a", cwd=tmp_path)
    assert code == 0, said
    code, said = await bob_client.git("push", bob_client.url("ann/open"), "HEAD:x", cwd=work)
    assert (code != 0, "needs write access" in said) == (True, True), said
    answers = []
    for name in ("closed", "nothing"):
        code, said = await bob_client.git("clone", bob_client.url(f"ann/{name}"), "b", cwd=tmp_path)
        assert code != 0
        answers.append(said.replace(name, "NAME"))
    assert answers[0] == answers[1]
    assert REFUSED in answers[0]
    await ann.call("PUT", "/api/v1/repos/ann/closed/collaborators/bob", {"permission": "write"})
    code, said = await bob_client.git("push", bob_client.url("ann/closed"), "HEAD:x", cwd=work)
    assert code == 0, said
    await ann.call("PATCH", "/api/v1/repos/ann/closed", {"archived": True})
    code, said = await ann_client.git("push", ann_client.url("ann/closed"), "HEAD:y", cwd=work)
    assert (code != 0, "archived" in said) == (True, True), said


async def test_a_key_that_opens_nothing_and_a_user_who_may_not_sign_in_are_refused(
    world, ann, client_of, work
):
    await ann.create("app")
    stranger, client = client_of("nobody"), client_of("ann", account=1)
    assert (await stranger.run())[0] == 255
    world.identity.add_account(1, "ann", active=False)
    code, said = await client.git("push", client.url("ann/app"), "master", cwd=work)
    assert (code, "Permission denied (publickey)" in said) == (128, True), said


async def test_no_key_is_called_refused_while_nobody_can_look_it_up(world, ann, tmp_path, monkeypatch):
    await ann.create("app")
    key, upstream = Key(tmp_path, "ann"), AppUpstream(world.app)
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    async with ssh_before(world, upstream=upstream) as port:
        client = Client(tmp_path, port, key)
        code, said = await client.git("ls-remote", client.url("ann/app"), cwd=tmp_path)
        assert code == 0, said
        away = Origin(f"http://127.0.0.1:{free_port()}", patience=0)
        monkeypatch.setattr(upstream, "request", away.request)
        code, said = await client.git("ls-remote", client.url("ann/app"), cwd=tmp_path)
        assert (code, "the service does not answer; try again later" in said) == (128, True), said
        assert "Permission denied" not in said


@pytest.mark.parametrize("read_only", [True, False])
async def test_a_deploy_key_opens_one_repository(world, ann, client_of, work, tmp_path, read_only):
    for name in ("app", "other"):
        await ann.create(name, private=True)
    owner, client = client_of("ann", account=1), client_of("robot")
    for name in ("app", "other"):
        assert (await owner.git("push", "-q", owner.url(f"ann/{name}"), "master", cwd=work))[0] == 0
    key = {"title": "robot", "key": client.key.public.content, "read_only": read_only}
    assert (await ann.post("/repos/ann/app/keys", key)).status_code == 201
    code, said = await client.git("clone", "-q", client.url("ann/app"), "copy", cwd=tmp_path)
    assert code == 0, said
    code, said = await client.git("clone", client.url("ann/other"), "more", cwd=tmp_path)
    assert (code, REFUSED in said) == (128, True), said
    code, said = await client.git("push", client.url("ann/app"), "HEAD:topic", cwd=work)
    if read_only:
        assert (code, "the deploy key may only read" in said) == (128, True), said
        return
    assert code == 0, said
    (push,) = [event for event in await world.events("push") if event["ref"] == "refs/heads/topic"]
    assert (push["pusher"]["login"], push["confined"]) == ("ann", True)


async def clones(client, path, folder):
    """Return the exit code and the output of a clone."""
    return await client.git("clone", "-q", client.url(path), folder.name, cwd=folder.parent)


async def let_in(person, client, path="ann/app"):
    """Add the key of a client to a repository."""
    key = {"title": "robot", "key": client.key.public.content}
    assert (await person.post(f"/repos/{path}/keys", key)).status_code == 201


async def test_a_deploy_key_stops_and_comes_back_with_its_creator(world, ann, bob, client_of, tmp_path):
    await ann.create("app", private=True)
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "admin"})
    client, account = client_of("robot"), world.identity.accounts[2]
    await let_in(bob, client)
    world.identity.accounts[2] = msgspec.structs.replace(account, active=False)
    code, said = await clones(client, "ann/app", tmp_path / "refused")
    assert (code, "Permission denied" in said) == (128, True), said
    world.identity.accounts[2] = account
    code, said = await clones(client, "ann/app", tmp_path / "allowed")
    assert code == 0, said
    del world.identity.accounts[2]
    code, said = await clones(client, "ann/app", tmp_path / "deleted")
    assert code == 128, said


async def test_a_key_of_two_creators_opens_the_repository_of_the_active_one(
    world, ann, bob, client_of, tmp_path
):
    await ann.create("app", private=True)
    await bob.create("app", private=True)
    client = client_of("robot")
    await let_in(ann, client)
    await let_in(bob, client, "bob/app")
    world.identity.accounts[1] = msgspec.structs.replace(world.identity.accounts[1], active=False)
    code, said = await clones(client, "ann/app", tmp_path / "refused")
    assert (code, REFUSED in said) == (128, True), said
    code, said = await clones(client, "bob/app", tmp_path / "allowed")
    assert code == 0, said


async def test_creators_who_may_not_sign_in_do_not_hide_the_key_of_another_one(
    world, ann, bob, client_of, tmp_path, monkeypatch
):
    monkeypatch.setattr(deploy_keys, "MOST_CREATORS", 1)
    await ann.create("app", private=True)
    await bob.create("app", private=True)
    client = client_of("robot")
    await let_in(ann, client)
    await let_in(bob, client, "bob/app")
    world.identity.accounts[1] = msgspec.structs.replace(world.identity.accounts[1], active=False)
    async with world.database.transaction() as tx:
        await tx.execute(update(account).where(account.c.id == 1).values(active=False))
    code, said = await clones(client, "bob/app", tmp_path / "allowed")
    assert code == 0, said


async def test_a_deploy_key_without_a_known_creator_stays(world, ann, client_of, tmp_path):
    await ann.create("app", private=True)
    client = client_of("robot")
    await let_in(ann, client)
    async with world.database.transaction() as tx:
        await tx.execute(update(deploy_key).values(creator_id=None))
    world.identity.accounts[1] = msgspec.structs.replace(world.identity.accounts[1], active=False)
    code, said = await clones(client, "ann/app", tmp_path / "copy")
    assert code == 0, said


async def test_a_read_only_key_of_a_user_fetches_and_does_not_push(world, ann, client_of, work, tmp_path):
    await ann.create("app", private=True)
    owner, reader = client_of("ann", account=1), client_of("backup", account=1)
    world.identity.read_only_ssh_keys.add(reader.key.public.fingerprint)
    assert (await owner.git("push", "-q", owner.url("ann/app"), "master", cwd=work))[0] == 0
    code, said = await reader.git("clone", "-q", reader.url("ann/app"), "copy", cwd=tmp_path)
    assert code == 0, said
    for ref in ("HEAD:topic", "HEAD:refs/for/master"):
        code, said = await reader.git("push", reader.url("ann/app"), ref, cwd=work)
        assert (code, "the key may only read" in said) == (128, True), said
    assert (await ann.get("/repos/ann/app/branches/topic")).status_code == 404
    for operation, allowed in (("download", True), ("upload", False)):
        code, said = await reader.run("git-lfs-authenticate", "ann/app", operation)
        assert (code == 0, "the key may only read" in said) == (allowed, not allowed), said


async def test_a_protected_branch_is_protected_and_a_refusal_names_it(ann, client_of, work):
    await ann.create("app")
    client = client_of("ann", account=1)
    assert (await client.git("push", "-q", client.url("ann/app"), "master", cwd=work))[0] == 0
    rule = {"rule_name": "master", "enable_push": False}
    assert (await ann.post("/repos/ann/app/branch_protections", rule)).status_code == 201
    await commit(work, "b.txt", "two\n")
    code, said = await client.git("push", client.url("ann/app"), "master", "HEAD:topic", cwd=work)
    assert code == 1
    assert "protects the branch 'master'" in said
    assert "[new branch]" in said
    assert "[remote rejected] master -> master" in said


async def test_a_former_name_still_leads_to_the_repository(ann, client_of, work, tmp_path):
    await ann.create("app")
    client = client_of("ann", account=1)
    old = client.url("ann/app")
    assert (await client.git("push", "-q", old, "master", cwd=work))[0] == 0
    assert (await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "new"})).status_code == 200
    code, said = await client.git("clone", "-q", old, "copy", cwd=tmp_path)
    assert code == 0, said
    await commit(work)
    code, said = await client.git("push", "-q", old, "master", cwd=work)
    assert code == 0, said


async def test_an_archive_of_a_branch_is_made_and_of_hidden_refs_is_not(world, ann, client_of, work):
    created = await ann.create("app")
    client = client_of("ann", account=1)
    assert (await client.git("push", "-q", client.url("ann/app"), "master", cwd=work))[0] == 0
    remote = f"--remote={client.url('ann/app')}"
    code, said = await client.git("archive", remote, "--format=tar", "-o", "x.tar", "master", cwd=work)
    assert code == 0, said
    assert b"one\n" in (work / "x.tar").read_bytes()
    path = world.components.storage.path(created["id"])
    tip = (path / "refs/heads/master").read_text().strip()
    (path / "refs/scratch").mkdir()
    (path / "refs/scratch/x").write_text(f"{tip}\n")
    for name in ("refs/scratch/x", "scratch/x", tip):
        code, said = await client.git("archive", remote, "-o", "y.tar", name, cwd=work)
        assert code != 0, said


async def test_an_archive_that_takes_too_much_cpu_time_ends_with_the_reason(world, ann, client_of, work):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    set_branches(repo, costly=commit_files(repo, COSTLY))
    client = client_of("ann", account=1)
    remote = f"--remote={client.url('ann/app')}"
    code, said = await client.git("archive", remote, "--format=tar", "-o", "x.tar", "costly", cwd=work)
    assert (code != 0, "more time" in said) == (True, True), said


async def test_a_plain_login_is_greeted_and_nothing_else_runs(ann, client_of):
    client = client_of("ann", account=1)
    code, said = await client.run()
    assert (code, said) == (0, "Hi ann! The key 'laptop of ann' is accepted, but there is no shell here.\r\n")
    for command in ("ls", "git-upload-pack '/etc/ssh/x'", "git-upload-pack ann/app; id", "sh -c id"):
        code, said = await client.run(command)
        assert (code, said) == (1, "ingot: only the commands of git run here\n"), command
    assert (await client.run("sftp", options=("-s",)))[0] == 255
    # No packet that the client ignores, and no cipher that needs them.
    code, said = await client.run(options=("-vvv",))
    assert (code, "receive packet" in said, "SSH2_MSG_IGNORE" in said) == (0, True, False)
    ciphers = ("aes128-gcm@openssh.com", "aes128-ctr", "aes128-cbc")
    codes = [(await client.run(options=("-c", cipher)))[0] for cipher in ciphers]
    assert codes == [0, 0, 255]


async def test_what_was_fetched_over_http_costs_no_git_over_ssh(ann, client_of, work, tmp_path, git_url):
    await ann.create("app")
    client = client_of("ann", account=1)
    remote = client.url("ann/app")
    assert (await client.git("push", "-q", remote, "master", cwd=work))[0] == 0
    answers = {}
    for number, url in enumerate((f"{git_url}/ann/app.git", remote)):
        code, said = await client.git("clone", "-q", url, f"copy{number}", cwd=tmp_path)
        assert code == 0, said
        assert (tmp_path / f"copy{number}" / "a.txt").read_text() == "one\n"
        answers[url] = [value_of(fetch_cache.ANSWERS, source) for source in ("git", "memory")]
    assert [after - before for before, after in zip(*answers.values(), strict=True)] == [0, 2]


@pytest.mark.parametrize(
    "options", [("-W", "127.0.0.1:1"), ("-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1")]
)
async def test_no_tunnel_is_opened(client_of, ann, options):
    assert ann.principal.id == 1
    code, said = await client_of("ann", account=1).run(options=options)
    assert code == 255, said


async def test_too_many_sessions_with_a_key_and_connections_of_an_address_are_refused(world, ann, tmp_path):
    await ann.create("app")
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    async with ssh_before(world, ssh_sessions_per_key=1, ssh_connections_per_address=1) as port:
        async with asyncssh.connect("127.0.0.1", port, **login) as connection:
            running = await connection.create_process("git-upload-pack 'ann/app'")
            await running.stdout.read(4)
            refused = await connection.run("git-upload-pack 'ann/app'")
            assert (refused.exit_status, refused.stderr) == (
                1,
                b"ingot: too many sessions with this key; try again later\n",
            )
            with pytest.raises((OSError, asyncssh.Error)):
                await asyncssh.connect("127.0.0.1", port, **login)
            running.stdin.write(b"0000")
            assert (await running.wait()).exit_status == 0
        async with asyncssh.connect("127.0.0.1", port, **login) as connection:
            assert (await connection.run("git-upload-pack 'ann/app'", input=b"0000")).exit_status == 0


async def test_an_idle_connection_and_an_endless_handshake_are_ended(world, ann, tmp_path):
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None}
    async with ssh_before(world, ssh_idle_seconds=0.3, ssh_login_seconds=0.2, ssh_handshakes=1) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await reader.readline()).startswith(b"SSH-2.0-")
        second, _ = await asyncio.open_connection("127.0.0.1", port)
        assert await second.read() == b""
        await reader.read()
        writer.close()
        async with asyncssh.connect("127.0.0.1", port, **login) as connection:
            await connection.wait_closed()


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_who_reads_nothing_is_cut_off_and_its_git_ends(world, ann, tmp_path, work, git_url):
    window = 4096  # bytes that the client lets the server send, far less than what it asks for
    await ann.create("app")
    (work / "noise").write_bytes(os.urandom(50 * window))
    await commit(work)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    async with (
        ssh_before(world, ssh_idle_seconds=0.3) as port,
        asyncssh.connect("127.0.0.1", port, **login) as connection,
        asyncio.timeout(10),
    ):
        process = await connection.create_process("git-upload-pack 'ann/app'", window=window)
        refs = await process.stdout.read(window)
        process.stdin.write(b"0032want " + refs[4:44] + b"\n00000009done\n")
        await connection.wait_closed()
        while any(task.get_name() == "a request of the SSH server" for task in asyncio.all_tasks()):
            await asyncio.sleep(0.01)


async def test_a_client_that_leaves_ends_its_git(world, ann, tmp_path, work):
    created = await ann.create("app")
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)
        assert (await client.git("push", "-q", client.url("ann/app"), "master", cwd=work))[0] == 0
        connection = await asyncssh.connect("127.0.0.1", port, **login)
        for command in ("git-upload-pack 'ann/app'", "git-receive-pack 'ann/app'"):
            process = await connection.create_process(command)
            await process.stdout.read(4)
        connection.abort()
        while any(task.get_name() == "a request of the SSH server" for task in asyncio.all_tasks()):
            await asyncio.sleep(0.01)
    assert await world.rows("push") == []
    assert world.components.storage.exists(created["id"])


async def test_the_host_keys_stay_and_a_process_of_its_own_serves_the_same(
    world, ann, git_url, tmp_path, work
):
    await ann.create("app")
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    upstream = Origin(git_url)
    fingerprints = set()
    for _ in range(2):
        async with ssh_before(world, upstream=upstream) as port:
            client = Client(tmp_path, port, key)
            fingerprints.add((await asyncssh.get_server_host_key("127.0.0.1", port)).get_fingerprint())
            await commit(work, "big.bin", f"{port}" * 400_000)
            code, said = await client.git("push", client.url("ann/app"), "master", cwd=work)
            assert code == 0, said
            code, said = await client.git("clone", "-q", client.url("ann/app"), str(port), cwd=tmp_path)
            assert code == 0, said
    await upstream.close()
    assert len(fingerprints) == 1
    sealed = [row.sealed for row in await world.rows("ssh_host_key")]
    assert len(sealed) == 2
    assert not any(b"PRIVATE" in one for one in sealed)


@pytest.mark.parametrize("limit", [1, 60])
async def test_a_process_that_ends_serves_on_while_sessions_begin_up_to_a_limit(world, ann, tmp_path, limit):
    await ann.create("app")
    server = ssh_server(world, handover_seconds=4, handover_limit_seconds=limit)
    clock, listener = asyncio.get_running_loop().time, socket.create_server(("127.0.0.1", 0))
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop of ann")
    port = listener.getsockname()[1]
    async with server.served(listener):
        await Client(tmp_path, port, key).run()  # it listens
        options = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "config": None}
        async with asyncssh.connect("127.0.0.1", port, **options) as connection:
            ending, end = asyncio.create_task(server.hand_over()), clock() + 5
            while clock() < end:
                assert "Hi ann!" in str((await connection.run()).stdout)
            assert ending.done() is (limit == 1)
        await asyncio.wait_for(ending, 30)


async def test_large_transfers_continue_while_the_keys_change(
    world, ann, client_of, work, tmp_path, monkeypatch
):
    send, agreements = asyncssh.SSHServerConnection.send_newkeys, []

    def note(self, k, h):
        agreements.append(self)
        send(self, k, h)

    monkeypatch.setattr(asyncssh.SSHServerConnection, "send_newkeys", note)
    await ann.create("app")
    await commit(work, "large.txt", os.urandom(9_000_000).hex())
    client = client_of("ann", "-o", "RekeyLimit=1M", account=1)
    for command in (
        ("push", "-q", client.url("ann/app"), "master"),
        ("clone", "-q", client.url("ann/app"), str(tmp_path / "copy")),
    ):
        agreements.clear()
        code, said = await client.git(*command, cwd=work)
        assert code == 0, said
        assert len(agreements) > 2
    await git("fsck", "--full", cwd=tmp_path / "copy")
    assert (tmp_path / "copy" / "large.txt").read_bytes() == (work / "large.txt").read_bytes()
