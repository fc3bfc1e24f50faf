"""One connection to the mailbox (IMAP, RFC 3501). Calls block, and run in one thread at a time.

Fetching a mail does not mark it as seen. It is marked after it was received.
"""

import imaplib
import socket
import ssl
from contextlib import suppress

from ingot_mail.settings import Settings

SECONDS = 30
"""Longest silence of the server."""


class MailboxError(Exception):
    """The mailbox cannot be used. The text is for the operator, and names the cure if it is known."""


class SignInRefused(MailboxError):
    """The server refuses the password or the access token."""


class MailboxConnection:
    """A connection to the mailbox that the settings name."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._imap: imaplib.IMAP4 | None = None

    def open(self, token: str = "") -> None:
        """Connect, sign in and select the folder. ``token``: an access token in place of the password.

        Raises MailboxError, SignInRefused.
        """
        settings = self._settings
        try:
            self._imap = self._connect()
            if settings.imap_user:
                self._sign_in(self._imap, token)
            done = _quoted(settings.imap_done_folder or settings.imap_folder)
            done_code, done_data = self._imap.status(done, "(UIDNEXT)")
            code, data = self._imap.select(_quoted(settings.imap_folder))
            _, capabilities = self._imap.capability()  # a server has more of them after the sign-in
        except (imaplib.IMAP4.error, OSError) as error:
            raise MailboxError(f"{settings.imap_host}: {_reason(error)}") from error
        if code != "OK":
            raise MailboxError(
                f"{settings.imap_host}: cannot select {settings.imap_folder!r}, {_text(data)}; "
                "check INGOT_MAIL_IMAP_FOLDER"
            )
        if settings.imap_done_folder and b"MOVE" not in (capabilities[0] or b"").upper().split():
            raise MailboxError(
                f"{settings.imap_host}: it cannot move mails; leave INGOT_MAIL_IMAP_DONE_FOLDER empty"
            )
        if settings.imap_done_folder and done_code != "OK":
            raise MailboxError(
                f"{settings.imap_host}: there is no {settings.imap_done_folder!r}, {_text(done_data)}; "
                "check INGOT_MAIL_IMAP_DONE_FOLDER"
            )

    def list_unseen(self) -> list[str]:
        """Return the UIDs of mails that are not marked as seen, oldest first. Raises MailboxError."""
        uids = self._command("SEARCH", "UNSEEN", "UNDELETED")[0]
        return sorted(uids.decode().split() if isinstance(uids, bytes) else [], key=int)

    def fetch(self, uid: str) -> bytes | None:
        """Return a mail without marking it as seen; None if it was removed. Raises MailboxError.

        A mail above ``reply_max_bytes`` is truncated to one byte more than this limit, so the receiver
        rejects the mail.
        """
        most = self._settings.reply_max_bytes + 1
        data = self._command("FETCH", uid, f"(BODY.PEEK[]<0.{most}>)")
        return next((part[1] for part in data if isinstance(part, tuple)), None)

    def mark_received(self, uid: str) -> None:
        """Mark a mail as seen, and move it if the settings name a folder. Raises MailboxError."""
        self._command("STORE", uid, "+FLAGS.SILENT", r"(\Seen)")
        if self._settings.imap_done_folder:
            self._command("MOVE", uid, _quoted(self._settings.imap_done_folder))

    def sign_out(self) -> None:
        """End the session."""
        with suppress(imaplib.IMAP4.error, OSError):
            if self._imap is not None:
                self._imap.logout()

    def abort(self) -> None:
        """Abort the calls of the thread that uses this connection. Called by another thread."""
        if self._imap is not None:
            with suppress(OSError):
                # Not that of TLS, which the thread uses.
                socket.socket.shutdown(self._imap.sock, socket.SHUT_RDWR)

    def _connect(self) -> imaplib.IMAP4:
        settings = self._settings
        if settings.imap_security == "none":
            return imaplib.IMAP4(settings.imap_host, settings.imap_port, timeout=SECONDS)
        context = ssl.create_default_context(cafile=settings.imap_ca_file or None)
        if settings.imap_security == "tls":
            return imaplib.IMAP4_SSL(
                settings.imap_host, settings.imap_port, ssl_context=context, timeout=SECONDS
            )
        imap = imaplib.IMAP4(settings.imap_host, settings.imap_port, timeout=SECONDS)
        imap.starttls(context)
        return imap

    def _sign_in(self, imap: imaplib.IMAP4, token: str) -> None:
        if token:
            self._sign_in_by_token(imap, token)
            return
        user, password = self._settings.imap_user, self._settings.imap_password
        try:
            if "AUTH=PLAIN" in imap.capabilities:
                imap.authenticate("PLAIN", lambda _: f"\0{user}\0{password}".encode())
            else:
                imap.login(_quoted(user), password)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            raise SignInRefused(
                f"{self._settings.imap_host}: the sign-in is refused; check INGOT_MAIL_IMAP_USER and "
                "INGOT_MAIL_IMAP_PASSWORD"
            ) from error

    def _sign_in_by_token(self, imap: imaplib.IMAP4, token: str) -> None:
        """Sign in by OAUTHBEARER (RFC 7628), or by XOAUTH2 on servers that only support its predecessor."""
        settings = self._settings
        if "AUTH=OAUTHBEARER" in imap.capabilities:
            user = settings.imap_user.replace("=", "=3D").replace(",", "=2C")
            server = f"host={settings.imap_host}\x01port={settings.imap_port}\x01"
            mechanism, first, acknowledgement = "OAUTHBEARER", f"n,a={user},\x01{server}", b"\x01"
        elif "AUTH=XOAUTH2" in imap.capabilities:
            mechanism, first, acknowledgement = "XOAUTH2", f"user={settings.imap_user}\x01", b""
        else:
            raise MailboxError(
                f"{settings.imap_host}: it takes no access tokens; empty INGOT_MAIL_IMAP_OAUTH_URL"
            )
        # A second question is an error of the server, which waits for its acknowledgement.
        answers = iter([f"{first}auth=Bearer {token}\x01\x01".encode()])
        try:
            imap.authenticate(mechanism, lambda _: next(answers, acknowledgement))
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            raise SignInRefused(
                f"{settings.imap_host}: the access token is refused; check INGOT_MAIL_IMAP_USER, "
                "INGOT_MAIL_IMAP_OAUTH_SCOPE and the rights of the client"
            ) from error

    def _command(self, name: str, *arguments: str) -> list[bytes | tuple[bytes, bytes] | None]:
        if self._imap is None:
            raise MailboxError("the connection is closed")
        try:
            code, data = self._imap.uid(name, *arguments)
        except (imaplib.IMAP4.error, OSError) as error:
            raise MailboxError(f"{self._settings.imap_host}: {name}: {_reason(error)}") from error
        if code != "OK":
            raise MailboxError(f"{self._settings.imap_host}: {name}: {_text(data)}")
        return data


def _quoted(text: str) -> str:
    """Return a quoted string (RFC 3501). imaplib quotes only passwords."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _text(data: list[bytes | None]) -> str:
    return b" ".join(part for part in data if isinstance(part, bytes)).decode(errors="replace")[:300]


def _reason(error: Exception) -> str:
    text = str(error)[:300] or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{text}; name its certificate authority in INGOT_MAIL_IMAP_CA_FILE"
    return text
