"""Trust in https and ssh remotes: real TLS and real SSH, through the proxy."""

import asyncio
import contextlib
import ipaddress
import random
import shutil
import ssl
from datetime import UTC, datetime, timedelta

import asyncssh
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ingot_chassis.settings import SettingsError
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import Remote, bare_source
from ..world import World, commit, git

with_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh client on this machine")


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"]}


class Authority:
    """Signs certificates. ``file`` is its own."""

    def __init__(self, folder, name="authority"):
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self._signed(self._name, self._key, x509.BasicConstraints(True, None), True))

    def _signed(self, name, key, extension, critical):
        now = datetime.now(UTC)
        day = timedelta(days=1)
        certificate = x509.CertificateBuilder(
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self._name)]),
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]),
            key.public_key(), x509.random_serial_number(), now - day, now + day,
        ).add_extension(extension, critical)  # fmt: skip
        return certificate.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def server(self, *addresses):
        """Return the output of a server at these addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName(
            [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        )
        file = self._folder / f"{self._name}-server.pem"
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file.write_bytes(key.private_bytes(*form) + self._signed("server", key, names, False))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


@contextlib.asynccontextmanager
async def ssh_server(folder, key, *, password=None):
    """The port of a server that serves the repositories of a folder with git's own program."""
    commands = []

    class Server(asyncssh.SSHServer):
        def begin_auth(self, username):
            commands.append(username)
            return password is not None

        def password_auth_supported(self):
            return True

        def validate_password(self, _username, attempt):
            return attempt == password

    async def pass_on(reader, writer):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()

    async def serve(process):
        verb, name = process.command.split(" ")
        assert verb == "git-upload-pack"
        served = await asyncio.create_subprocess_exec(
            "git", "-c", "safe.directory=*", "upload-pack", folder / name.strip("'").lstrip("/"),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        sending = asyncio.create_task(pass_on(process.stdin, served.stdin))
        await pass_on(served.stdout, process.stdout)
        sending.cancel()
        process.exit(await served.wait())

    listening = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=Server, server_host_keys=[key], process_factory=serve, encoding=None
    )
    async with listening:
        yield listening.get_port(), commands


def hosts_file(folder, port, key):
    """A file of known hosts that holds this key for the server at ``port``."""
    file = folder / "known hosts"
    file.write_text(f"[127.0.0.1]:{port} {key.export_public_key().decode()}")
    return str(file)


async def source(folder, tmp_path):
    folder.mkdir(exist_ok=True)
    work = await bare_source(folder, tmp_path)
    await commit(work, "README.md", "hello\n")
    await git("push", "-q", "origin", "trunk", cwd=work)
    return work


async def migrate(world, person, url, **more):
    """Try an import once; how the API shows it."""
    answer = await person.post("/repos/migrate", {"clone_addr": url, "repo_name": "copy", **more})
    assert answer.status_code == 201, answer.text
    await world.components.import_workers.step()
    return (await person.get("/repos/bob/copy/migration")).json()


async def test_a_mirror_of_a_remote_whose_authority_the_operator_trusts(world, bob, tmp_path):
    authority = Authority(tmp_path)
    world.settings.remote_authorities = str(authority.file)
    async with Remote(tmp_path / "remote", authority.server("127.0.0.1")) as remote:
        work = await source(remote.folder, tmp_path)
        state = await migrate(world, bob, remote.url(), mirror=True)
        assert (state["status"], state["received"] > 0) == ("done", True)
        tip = await commit(work)
        await git("push", "-q", "origin", "trunk", cwd=work)
        assert (await bob.post("/repos/bob/copy/mirror-sync")).status_code == 200
        await world.components.mirror_workers.step()
    (branch,) = (await bob.get("/repos/bob/copy/branches")).json()
    assert branch["commit"]["id"] == tip


@pytest.mark.parametrize("trusted", ["nobody", "another", "for another address"])
async def test_a_certificate_of_anybody_else_is_refused_before_a_password_is_sent(
    world, bob, tmp_path, trusted
):
    authority = Authority(tmp_path)
    shown = "127.0.0.2" if trusted == "for another address" else "127.0.0.1"
    if trusted != "nobody":
        trusted_authority = Authority(tmp_path, "another") if trusted == "another" else authority
        world.settings.remote_authorities = str(trusted_authority.file)
    async with Remote(tmp_path / "remote", authority.server(shown)) as remote:
        state = await migrate(world, bob, remote.url(), auth_username="bob", auth_password="s3cret")
        assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["tls"])
        assert remote.requests == []


async def test_a_connection_that_breaks_off_is_no_question_of_trust(world, bob, tmp_path):
    """It may pass by itself: the migration is tried again."""
    authority = Authority(tmp_path)
    world.settings.remote_authorities = str(authority.file)
    async with Remote(tmp_path / "remote", authority.server("127.0.0.1")) as remote:
        work = await source(remote.folder, tmp_path)
        (work / "random").write_bytes(random.randbytes(300_000))
        await commit(work)
        await git("push", "-q", "origin", "trunk", cwd=work)
        remote.cut = 100_000
        state = await migrate(world, bob, remote.url())
        assert state["status"] == "running"
        (job,) = await world.rows("job")
        assert job.attempts == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [("remote_authorities", None), ("remote_authorities", "no certificate"), ("known_hosts", None)],
)
def test_a_missing_or_wrong_file_is_reported_at_the_start(tmp_path, name, text):
    file = tmp_path / "file"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match=f"INGOT_REPOS_{name.upper()}"):
        World(f"sqlite+aiosqlite:///{tmp_path}/x.db", tmp_path, **{name: str(file)})


@with_ssh
@pytest.mark.parametrize("password", [None, "hunter2"])
async def test_an_ssh_remote_whose_host_key_is_known(world, bob, tmp_path, password):
    key = asyncssh.generate_private_key("ssh-ed25519")
    await source(tmp_path / "remote", tmp_path)
    # A name that looks like git's question for one.
    user = "username" if password else "git"
    async with ssh_server(tmp_path / "remote", key, password=password) as (port, commands):
        world.settings.known_hosts = hosts_file(tmp_path, port, key)
        address = f"ssh://{user}@127.0.0.1:{port}/source.git"
        state = await migrate(world, bob, address, **({"auth_password": password} if password else {}))
    assert (state["status"], state["received"] > 0, state["original_url"]) == ("done", True, address)
    assert set(commands) == {user}
    assert (await bob.get("/repos/bob/copy/raw/trunk/README.md")).text == "hello\n"


@with_ssh
async def test_a_user_name_beside_the_address_is_who_asks_by_ssh(world, bob, tmp_path):
    key = asyncssh.generate_private_key("ssh-ed25519")
    await source(tmp_path / "remote", tmp_path)
    async with ssh_server(tmp_path / "remote", key, password="hunter2") as (port, commands):
        world.settings.known_hosts = hosts_file(tmp_path, port, key)
        address = f"127.0.0.1:{port}/source.git"
        state = await migrate(world, bob, f"ssh://{address}", auth_username="deploy", auth_password="hunter2")
    assert (state["status"], state["original_url"]) == ("done", f"ssh://deploy@{address}")
    assert set(commands) == {"deploy"}


@with_ssh
async def test_an_ssh_remote_is_not_opened_with_a_wrong_password(world, bob, tmp_path):
    key = asyncssh.generate_private_key("ssh-ed25519")
    async with ssh_server(tmp_path / "remote", key, password="hunter2") as (port, _):
        world.settings.known_hosts = hosts_file(tmp_path, port, key)
        state = await migrate(world, bob, f"ssh://git@127.0.0.1:{port}/x.git", auth_password="wrong")
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["unauthorized"])


@with_ssh
@pytest.mark.parametrize("listed", ["another key", "another host", "none"])
async def test_an_ssh_host_that_is_not_known_gets_no_word(world, bob, tmp_path, listed):
    key, other = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    async with ssh_server(tmp_path / "remote", key, password="s3cret") as (port, commands):
        world.settings.known_hosts = hosts_file(
            tmp_path, port + (listed == "another host"), other if listed == "another key" else key
        )
        if listed == "none":
            (tmp_path / "known hosts").write_text("")
        state = await migrate(world, bob, f"ssh://git@127.0.0.1:{port}/x.git", auth_password="s3cret")
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["host-key"])
    assert commands == []


HOSTILE = '[submodule "x"]\n\tpath = -x\n\turl = -u./payload\n'


async def hostile_source(folder, tmp_path):
    """A repository in the folder of a remote with a file that no push may bring."""
    work = await bare_source(folder, tmp_path)
    await commit(work, ".gitmodules", HOSTILE)
    await git("push", "-q", "origin", "trunk", cwd=work)


async def test_objects_of_a_remote_are_checked_as_those_of_a_push(world, bob, tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        await hostile_source(remote.folder, tmp_path)
        state = await migrate(world, bob, remote.url())
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["unsafe"])


@pytest.mark.parametrize("is_packed", [False, True])
async def test_a_server_that_only_offers_files_is_refused(world, bob, tmp_path, is_packed):
    """git would take its objects without a check."""
    async with Remote(tmp_path / "remote") as remote:
        await hostile_source(remote.folder, tmp_path)
        if is_packed:
            await git("repack", "-adq", cwd=remote.folder / "source.git")
        await git("update-server-info", cwd=remote.folder / "source.git")

        async def answer(_method, target, *_):
            file = remote.folder / target.partition("?")[0].removeprefix("/")
            if not file.is_file():
                return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
            content = file.read_bytes()
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content

        remote.answer = answer
        state = await migrate(world, bob, remote.url())
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["dumb-http"])


async def test_a_remote_without_its_whole_history_is_refused(world, bob, tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        work = await source(remote.folder, tmp_path)
        await commit(work, "two", "2")
        await git("push", "-q", "origin", "trunk", cwd=work)
        whole, shallow = remote.folder / "source.git", remote.folder / "shallow.git"
        await git("clone", "-q", "--bare", "--depth=1", whole.as_uri(), str(shallow), cwd=work)
        state = await migrate(world, bob, remote.url("shallow.git"))
        assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["rejected"])
