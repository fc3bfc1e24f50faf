"""A real directory server: slapd of OpenLDAP, with its own certificate authority. Binds need TLS."""

import asyncio
import base64
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ingot_chassis.clock import now
from ingot_testing.processes import free_port

LOOPBACK = ip_address("127.0.0.1")
"""The programs of OpenLDAP put the name of the machine in place of localhost, so they get the address."""
BASE = "dc=example,dc=org"
PEOPLE, GROUPS = f"ou=people,{BASE}", f"ou=groups,{BASE}"
ROOT_DN, SERVICE_DN = f"cn=root,{BASE}", f"cn=ingot,{BASE}"
ROOT_PASSWORD, SERVICE_PASSWORD = "the root of the directory", "the service of the directory"
PASSWORD = "the directory has it"
CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/nis.schema
include {folder}/keys.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
pidfile {folder}/slapd.pid
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
TLSCACertificateFile {folder}/authority.pem
security simple_bind=128
{limits}
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
database mdb
suffix {base}
rootdn {root_dn}
rootpw "{root_password}"
directory {folder}/data
index objectClass,uid,entryUUID,member eq
overlay memberof
"""
KEYS_SCHEMA = """
attributetype ( 1.3.6.1.4.1.24552.500.1.1.1.13 NAME 'sshPublicKey' DESC 'a key for SSH'
    EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
objectclass ( 1.3.6.1.4.1.24552.500.1.1.2.0 NAME 'ldapPublicKey' SUP top AUXILIARY MAY sshPublicKey )
"""


class Authority:
    """A certificate authority."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self.pem = _pem(self._certificate(self._name, self._key, basic))

    def issue(self, host: str) -> tuple[str, str]:
        """Return a certificate for a host and 127.0.0.1, and its private key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        names = x509.SubjectAlternativeName([x509.DNSName(host), x509.IPAddress(LOOPBACK)])
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return _pem(self._certificate(name, key, names)), private.decode()

    def _certificate(self, name: Any, key: Any, extension: Any) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now() - timedelta(days=1))
            .not_valid_after(now() + timedelta(days=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self._key, hashes.SHA256())
        )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


class Slapd:
    """A running directory server, with the lines of its log."""

    def __init__(self, folder: Path, authority: Authority, port: int, tls_port: int) -> None:
        self.authority, self.port, self.tls_port = authority, port, tls_port
        self.lines, self.read = list[str](), asyncio.Condition()
        self._folder, self._numbers = folder, count()

    @property
    def url(self) -> str:
        """Return the URL for StartTLS."""
        return f"ldap://localhost:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"ldaps://localhost:{self.tls_port}"

    async def binds(self) -> list[str]:
        """Return the names of all simple binds, including rejected binds, without the binds of the tests."""
        mark = f"(cn=mark-{next(self._numbers)})"
        await _run("ldapsearch", "-x", "-H", f"ldap://{LOOPBACK}:{self.port}", "-s", "base", mark)
        async with self.read:
            await self.read.wait_for(lambda: any(mark in line for line in self.lines))
        binds = [line for line in self.lines if " BIND dn=" in line and "method=128" in line]
        names = [line.partition('BIND dn="')[2].partition('" method')[0] for line in binds]
        return [name for name in names if name not in ("", ROOT_DN)]

    async def add_person(
        self, uid: str, *, password: str = PASSWORD, **attributes: str | Sequence[str]
    ) -> str:
        """Add a person and return the name of the entry."""
        dn = f"uid={uid},{PEOPLE}"
        values: dict[str, str | Sequence[str]] = {
            "objectClass": ["inetOrgPerson", "ldapPublicKey"],
            "cn": uid.capitalize(),
            "sn": "Doe",
            "mail": f"{uid}@corp.example",
            "userPassword": password,
        }
        await self._change(_ldif(dn, "add", values | attributes))
        return dn

    async def add_entry(self, dn: str, **attributes: str) -> None:
        """Add a person. ``dn`` is already escaped."""
        await self._change(_ldif(dn, "add", {"objectClass": "inetOrgPerson", **attributes}))

    async def add_group(self, name: str, *members: str) -> str:
        dn = f"cn={name},{GROUPS}"
        await self._change(_ldif(dn, "add", {"objectClass": "groupOfNames", "member": members}))
        return dn

    async def add_names(self, name: str, *uids: str) -> str:
        """Add a group whose members are named by uid. Return the name of the entry."""
        dn = f"cn={name},{GROUPS}"
        values = {"objectClass": "posixGroup", "gidNumber": "1000", "memberUid": uids}
        await self._change(_ldif(dn, "add", values))
        return dn

    async def delete(self, dn: str) -> None:
        await self._change(f"dn: {dn}\nchangetype: delete\n")

    async def replace(self, dn: str, attribute: str, *values: str | bytes) -> None:
        """Replace the values of an attribute. Bytes are a picture."""
        lines = "".join(
            f"{attribute}: {value}\n" if isinstance(value, str) else f"{attribute}:: {_base64(value)}\n"
            for value in values
        )
        await self._change(f"dn: {dn}\nchangetype: modify\nreplace: {attribute}\n{lines}")

    async def rename(self, dn: str, uid: str) -> None:
        await self._change(f"dn: {dn}\nchangetype: modrdn\nnewrdn: uid={uid}\ndeleteoldrdn: 1\n")

    async def _change(self, ldif: str) -> None:
        process = await asyncio.create_subprocess_exec(
            "ldapmodify", "-x", "-ZZ", "-H", f"ldap://{LOOPBACK}:{self.port}",
            "-D", ROOT_DN, "-w", ROOT_PASSWORD,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env=os.environ | {"LDAPTLS_CACERT": str(self._folder / "authority.pem")},
        )  # fmt: skip
        output, _ = await process.communicate(ldif.encode())
        assert process.returncode == 0, output.decode()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _ldif(dn: str, change: str, values: dict[str, str | Sequence[str]]) -> str:
    lines = [f"dn: {dn}", f"changetype: {change}"] if change else [f"dn: {dn}"]
    for name, value in values.items():
        lines += [f"{name}: {one}" for one in ([value] if isinstance(value, str) else value)]
    return "\n".join(lines) + "\n"


@asynccontextmanager
async def running_slapd(folder: Path, *, limits: str = "") -> AsyncIterator[Slapd]:
    """Run a directory server with an account for Ingot, and no people.

    ``limits`` are lines of its configuration. Skips the test if slapd is not installed.
    """
    if not shutil.which("slapd") or not shutil.which("ldapmodify"):
        pytest.skip("no directory: install the packages slapd and ldap-utils")
    authority = Authority("the authority of the directory")
    certificate, key = authority.issue("localhost")
    files = {"authority.pem": authority.pem, "server.pem": certificate, "server.key": key}
    for name, text in (files | {"keys.schema": KEYS_SCHEMA}).items():
        (folder / name).write_text(text)
    (folder / "data").mkdir()
    config = folder / "slapd.conf"
    config.write_text(
        CONFIG.format(folder=folder, base=BASE, root_dn=ROOT_DN, root_password=ROOT_PASSWORD, limits=limits)
    )
    units = "".join(f"{_ldif(dn, '', {'objectClass': 'organizationalUnit'})}\n" for dn in (PEOPLE, GROUPS))
    base = _ldif(BASE, "", {"objectClass": ["dcObject", "organization"], "o": "Example"})
    service = {
        "objectClass": ["applicationProcess", "simpleSecurityObject"],
        "userPassword": SERVICE_PASSWORD,
    }
    await _run("slapadd", "-f", str(config), text=f"{base}\n{units}\n{_ldif(SERVICE_DN, '', service)}")
    port, tls_port = free_port(), free_port()
    slapd = Slapd(folder, authority, port, tls_port)
    process = await asyncio.create_subprocess_exec(
        "slapd", "-f", str(config), "-d", "stats",
        "-h", f"ldap://127.0.0.1:{port}/ ldaps://127.0.0.1:{tls_port}/",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr
    reader = asyncio.create_task(_read(process.stderr, slapd))
    try:
        async with asyncio.timeout(60), slapd.read:
            await slapd.read.wait_for(lambda: any("slapd starting" in line for line in slapd.lines))
        yield slapd
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        await reader


async def _read(stream: asyncio.StreamReader, slapd: Slapd) -> None:
    async for line in stream:
        async with slapd.read:
            slapd.lines.append(line.decode(errors="replace").rstrip())
            slapd.read.notify_all()


async def _run(*command: str, text: str = "") -> None:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate(text.encode())
    assert process.returncode == 0, output.decode()
