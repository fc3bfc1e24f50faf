"""A real IMAP server: dovecot, with one mailbox and its own certificate authority."""

import asyncio
import grp
import imaplib
import os
import pwd
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ingot_chassis.clock import now
from ingot_mail.settings import Settings
from ingot_testing.processes import free_port

USER, PASSWORD = "replies", 'a "password" \\ of 100 % ü'
PATIENCE = 60
_T = TypeVar("_T")
CONFIG = """
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
log_path = /dev/stderr
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
mail_location = maildir:{folder}/mails
mail_uid = {user}
mail_gid = {group}
first_valid_uid = 1
ssl = yes
ssl_cert = <{folder}/server.pem
ssl_key = <{folder}/server.key
disable_plaintext_auth = no
auth_mechanisms = plain login {mechanisms}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
}}
service anvil {{
  chroot =
}}
passdb {{
  driver = oauth2
  mechanisms = oauthbearer xoauth2
  args = {folder}/oauth2.conf
}}
passdb {{
  driver = passwd-file
  mechanisms = plain login
  args = scheme=PLAIN {folder}/users
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}/home
}}
"""


class Dovecot:
    """A running server. Its connections here are those of another mail program."""

    def __init__(self, folder: Path, port: int, tls_port: int) -> None:
        self.folder, self.port, self.tls_port = folder, port, tls_port

    def settings_of(self, settings: Settings, **changes: object) -> Settings:
        """Return the settings with this mailbox."""
        mailbox = {
            "imap_host": "localhost",
            "imap_port": self.tls_port,
            "imap_ca_file": str(self.folder / "server.pem"),
            "imap_user": USER,
            "imap_password": PASSWORD,
        }
        return msgspec.structs.replace(settings, **(mailbox | changes))

    async def deliver(self, *mails: bytes) -> None:
        def append(imap: imaplib.IMAP4) -> None:
            for mail in mails:
                assert imap.append("INBOX", None, None, mail)[0] == "OK"

        await asyncio.to_thread(self._with, append)

    async def create_folder(self, name: str) -> None:
        await asyncio.to_thread(self._with, lambda imap: imap.create(name))

    async def count(self, folder: str = "INBOX", which: str = "ALL") -> int:
        """Return the number of mails of a folder that match a search."""

        def search(imap: imaplib.IMAP4) -> int:
            assert imap.select(folder, readonly=True)[0] == "OK"
            return len(imap.search(None, which)[1][0].split())

        return await asyncio.to_thread(self._with, search)

    def _with(self, work: Callable[[imaplib.IMAP4], _T]) -> _T:
        imap = imaplib.IMAP4("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            imap.authenticate("PLAIN", lambda _: f"\0{USER}\0{PASSWORD}".encode())
            return work(imap)
        finally:
            imap.logout()


@asynccontextmanager
async def running_dovecot(
    *, mechanisms: str = "oauthbearer xoauth2", introspection: str = "http://127.0.0.1:1/"
) -> AsyncIterator[Dovecot]:
    """Run a server with an empty mailbox. Skips the test where dovecot is not installed.

    ``mechanisms`` are those for access tokens, which the server checks at the URL ``introspection``.
    """
    program = shutil.which("dovecot") or shutil.which("dovecot", path="/usr/sbin")
    if program is None:
        pytest.skip("no IMAP server: install the package dovecot-imapd")
    server = _prepare(mechanisms, introspection)
    folder = server.folder
    try:
        process = await asyncio.create_subprocess_exec(
            program, "-F", "-c", str(folder / "dovecot.conf"),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        log: list[str] = []
        assert process.stderr
        started = asyncio.Event()
        reader = asyncio.create_task(_read(process.stderr, log, started))
        try:
            async with asyncio.timeout(PATIENCE):
                await started.wait()
            assert process.returncode is None, log
            yield server
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            await reader
    finally:
        shutil.rmtree(folder)


def _prepare(mechanisms: str, introspection: str) -> Dovecot:
    """Write the configuration of a server into a folder, which other users must be able to read."""
    folder = Path(tempfile.mkdtemp(prefix="ingot-dovecot-"))
    folder.chmod(0o755)
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    group = grp.getgrgid(user.pw_gid)
    for name in ("mails", "home"):
        (folder / name).mkdir()
        os.chown(folder / name, user.pw_uid, user.pw_gid)
    certificate, key = _certificate()
    (folder / "server.pem").write_text(certificate)
    (folder / "server.key").write_text(key)
    (folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
    (folder / "oauth2.conf").write_text(
        f"introspection_url = {introspection}\nintrospection_mode = post\nusername_attribute = username\n"
        "active_attribute = active\nactive_value = true\n"
    )
    server = Dovecot(folder, free_port(), free_port())
    (folder / "dovecot.conf").write_text(
        CONFIG.format(
            folder=folder,
            mechanisms=mechanisms,
            user=user.pw_name,
            group=group.gr_name,
            port=server.port,
            tls_port=server.tls_port,
        )
    )
    return server


async def _read(stream: asyncio.StreamReader, log: list[str], started: asyncio.Event) -> None:
    async for line in stream:
        log.append(line.decode(errors="replace"))
        if "starting up" in log[-1]:
            started.set()
    started.set()


def _certificate() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode()
