"""One connection to a directory, used by one thread. Any result except success is an error.

Each part of a search must be complete: an incomplete list of groups would take rights from people.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ldap3 import AUTO_BIND_NONE, BASE, NONE, SUBTREE, SYNC, Tls
from ldap3 import Connection as LdapConnection
from ldap3 import Server as LdapServer
from ldap3.core.exceptions import LDAPException, LDAPStartTLSError

from ingot_chassis.security.egress import ResolveResult
from ingot_identity.directories.clients.queries import DirectoryFailed, Entry, Server

STEP_SECONDS = 5
"""Timeout of a connection attempt, and of each read. The caller limits the whole request."""
MOST_ENTRIES = 10_000
"""Maximum number of entries of one search."""
MOST_BYTES = 256 * 1024 * 1024
MOST_LISTED = 100_000
"""Maximum number of people of a directory."""
PAGE = 500
PAGED_RESULTS = "1.2.840.113556.1.4.319"
_REFUSED = {
    19: "a rule of the directory, such as a locked account",
    32: "no such entry",
    34: "an invalid name",
    48: "no such way to bind",
    49: "wrong",
    50: "no right to bind",
    53: "unwilling to perform",
}
"""Results of a bind that refuse this person (RFC 4511, appendix A). All others are failures."""
_CURES = {
    3: "the search took too long; add an index for the filter",
    4: "the directory limits the entries of a search; raise its limit for the bind account",
    8: "the directory asks for a stronger way to bind",
    10: "the directory refers to another one; name that in url",
    11: "the directory limits the entries of a search; raise its limit for the bind account",
    13: "the directory asks for TLS",
    32: "base_dn names no entry that the bind account can see",
    50: "the bind account may not search there",
}
_T = TypeVar("_T")


class _BoundedSocket(ssl.SSLSocket):
    """A socket that fails after ``MOST_BYTES`` bytes."""

    received = 0

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        data = super().recv(buflen, flags)
        self.received += len(data)
        if self.received > MOST_BYTES:
            raise OSError(f"the answers are larger than {MOST_BYTES} bytes")
        return data


class _CheckedTls(Tls):  # type: ignore[misc] # ldap3 has no types
    """TLS for the name of the host, whatever the address of the connection."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._context, self._host = context, host

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:  # noqa: ARG002
        """Start TLS and check the certificate. ldap3 defines the parameters."""
        connection.socket = self._context.wrap_socket(connection.socket, server_hostname=self._host)


class Connection:
    """A connection to the first of the addresses that accepts one."""

    def __init__(self, server: Server, addresses: Sequence[ResolveResult]) -> None:
        self._server, self._addresses = server, addresses
        self._lock, self._aborted = threading.Lock(), False
        self._ldap: LdapConnection | None = None

    def run(self, work: Callable[["Connection"], _T]) -> _T:
        """Connect, and return the result of ``work``. Raises DirectoryFailed."""
        try:
            self._connect()
            return work(self)
        except DirectoryFailed:
            raise
        except Exception as error:  # ldap3 raises any error for an invalid answer
            raise DirectoryFailed(f"{self._server.host}: {_reason(error)}") from error
        finally:
            self._close()

    def abort(self) -> None:
        """End the requests of the thread. Called by another thread."""
        with self._lock:
            self._aborted = True
            raw = self._ldap.socket if self._ldap else None
        if raw is not None:
            with suppress(OSError):
                socket.socket.shutdown(raw, socket.SHUT_RDWR)  # not that of TLS, which the thread uses

    def bind_as_service(self) -> None:
        """Bind with the account of the service, or without one. Raises DirectoryFailed."""
        server = self._server
        if not server.bind_dn:
            return
        if not server.bind_password:
            raise DirectoryFailed("bind_dn needs its password; set the secret of the source")
        if not self.bind(server.bind_dn, server.bind_password):
            raise DirectoryFailed("the directory refuses bind_dn; check it and the secret of the source")

    def bind(self, dn: str, password: str) -> bool:
        """Return False if the directory refuses this name and password. Raises DirectoryFailed."""
        if not dn or not password:
            raise DirectoryFailed("a bind needs a name and a password")
        ldap = self._open()
        raw = password.encode()  # ldap3 changes text, and refuses control characters
        ldap.rebind(user=dn, password=raw, authentication="SIMPLE", read_server_info=False)
        code = _code(ldap)
        if code != 0 and code not in _REFUSED:
            raise DirectoryFailed(_cure(ldap))
        return code == 0

    def search(
        self,
        base_dn: str,
        filter_: str,
        attributes: Sequence[str],
        *,
        only_base: bool = False,
        most: int = MOST_ENTRIES,
    ) -> list[Entry]:
        """Return at most ``most`` entries. Without ``most``, raise DirectoryFailed for an incomplete list."""
        ldap = self._open()
        ldap.search(
            base_dn,
            filter_,
            search_scope=BASE if only_base else SUBTREE,
            attributes=list(attributes) or None,
            size_limit=most if most < MOST_ENTRIES else 0,
            time_limit=STEP_SECONDS,
        )
        code = _code(ldap)
        if only_base and code == 32:
            return []
        if code != 0 and not (code == 4 and most < MOST_ENTRIES):
            raise DirectoryFailed(_cure(ldap))
        return _entries(ldap.response)

    def search_all(self, base_dn: str, filter_: str, attributes: Sequence[str]) -> list[Entry]:
        """Return all entries, in pages (RFC 2696). Raises DirectoryFailed unless every page is complete."""
        ldap, entries, cookie = self._open(), list[Entry](), b""
        while True:
            ldap.search(
                base_dn,
                filter_,
                search_scope=SUBTREE,
                attributes=list(attributes),
                paged_size=PAGE,
                paged_cookie=cookie or None,
            )
            if _code(ldap) != 0:
                raise DirectoryFailed(_cure(ldap))
            entries += _entries(ldap.response)
            if len(entries) > MOST_LISTED:
                raise DirectoryFailed(f"user_filter matches more than {MOST_LISTED} entries; narrow it")
            control = (ldap.result.get("controls") or {}).get(PAGED_RESULTS) or {}
            cookie = (control.get("value") or {}).get("cookie") or b""
            if not cookie:
                return entries

    def _open(self) -> LdapConnection:
        if self._ldap is None or self._aborted:
            raise DirectoryFailed("the connection is closed")
        return self._ldap

    def _connect(self) -> None:
        context = ssl.create_default_context(cadata=self._server.authorities or None)
        context.sslsocket_class = _BoundedSocket
        problem: Exception | None = None
        for address in self._addresses:
            try:
                self._connect_to(address["host"], context)
            except LDAPException as error:
                problem = problem or error
            else:
                return
        raise problem or OSError("it has no address")

    def _connect_to(self, address: str, context: ssl.SSLContext) -> None:
        server = LdapServer(
            address,
            port=self._server.port,
            use_ssl=self._server.tls_first,
            get_info=NONE,
            connect_timeout=STEP_SECONDS,
            tls=_CheckedTls(context, self._server.host),
        )
        ldap = LdapConnection(
            server,
            auto_bind=AUTO_BIND_NONE,
            client_strategy=SYNC,
            auto_referrals=False,
            check_names=False,
            auto_escape=False,
            auto_encode=False,
            receive_timeout=STEP_SECONDS,
        )
        with self._lock:
            if self._aborted:
                raise OSError("the request was aborted")
            self._ldap = ldap
        ldap.open(read_server_info=False)
        if not self._server.tls_first and not ldap.start_tls(read_server_info=False):
            raise LDAPStartTLSError("StartTLS is refused")

    def _close(self) -> None:
        if self._ldap is not None:
            with suppress(LDAPException, OSError, AttributeError):
                self._ldap.unbind()


def _entries(response: Sequence[dict[str, Any]]) -> list[Entry]:
    """Return the entries of a response, without references to other directories."""
    return [
        Entry(row["dn"], {name.lower(): list(values) for name, values in row["raw_attributes"].items()})
        for row in response
        if row["type"] == "searchResEntry"
    ]


def _code(ldap: LdapConnection) -> int:
    return int((ldap.result or {}).get("result", -1))


def _cure(ldap: LdapConnection) -> str:
    result = ldap.result or {}
    return (
        f"{result.get('description', 'no result')}: {_CURES.get(_code(ldap), 'see the log of the directory')}"
    )


def _reason(error: Exception) -> str:
    """Return the reason of a failure, with the cure for the most frequent one."""
    text = str(error)[:300]
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        return f"{text}; name its certificate authority in authorities, and its host in url"
    return text or type(error).__name__
