"""Signed reply addresses: each is for one person and one issue, and expires after some days.

A mail server may change a local part to lower case. A local part has at most 64 octets (RFC 5321). The token
is therefore base32 and 48 characters long.
"""

import base64
import hmac
import re
import string
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ingot_chassis.settings import SettingsError
from ingot_mail.settings import Settings

TOKEN = "{token}"  # noqa: S105 - the place of the token in the setting
SETTING = "INGOT_MAIL_REPLY_ADDRESS"
MOST_LOCAL = 64
_PURPOSE = b"ingot mail reply\0"
_ID_BYTES, _DAY_BYTES, _MAC_BYTES = 6, 2, 16
_TOKEN_BYTES = 2 * _ID_BYTES + _DAY_BYTES + _MAC_BYTES
_QUANTUM, _QUANTUM_BYTES = 8, 5
"""Characters of base32, and the bytes that they encode."""
TOKEN_LENGTH = _TOKEN_BYTES * _QUANTUM // _QUANTUM_BYTES
_ALPHABET = frozenset(string.ascii_letters + "234567")
_RUN = re.compile(r"[A-Za-z2-7\s>|=\u00ad\u200b-\u200d\u2060]{48,}")
"""Characters of tokens, and those that mail programs put between them: line breaks and marks of quotes."""
_TEMPLATE = re.compile(r"[A-Za-z0-9._+=-]*\{token\}[A-Za-z0-9._+=-]*@[A-Za-z0-9.-]+|")
_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC)


class ReplyTarget(NamedTuple):
    """A person and the issue or pull request that their reply is for."""

    account_id: int
    issue_id: int
    expires_at: datetime


class ReplyAddresses:
    """Signs and verifies reply addresses. Without the setting there are none."""

    def __init__(self, settings: Settings) -> None:
        if not _TEMPLATE.fullmatch(settings.reply_address):
            raise SettingsError([f"{SETTING} is not of the form reply+{TOKEN}@example.org"])
        local, _, self._domain = settings.reply_address.partition("@")
        self._before, _, self._after = local.partition(TOKEN)
        if len(self._before) + TOKEN_LENGTH + len(self._after) > MOST_LOCAL:
            rest = MOST_LOCAL - TOKEN_LENGTH
            raise SettingsError([f"{SETTING} has more than {rest} characters next to {TOKEN} before the @"])
        self._key, self._life = settings.sealing_key.encode(), timedelta(days=settings.reply_days)
        self._pattern = re.compile(
            re.escape(self._before)
            + f"([a-z2-7]{{{TOKEN_LENGTH}}})"
            + re.escape(f"{self._after}@{self._domain}"),
            re.IGNORECASE | re.ASCII,
        )

    @property
    def is_on(self) -> bool:
        return bool(self._domain)

    def sign(self, account_id: int, issue_id: int, at: datetime) -> str:
        """Return the address for replies to a mail that is sent at ``at``; empty without the setting."""
        if not self.is_on:
            return ""
        day = (at + self._life - _FIRST_DAY).days + 1
        body = (
            account_id.to_bytes(_ID_BYTES, "big")
            + issue_id.to_bytes(_ID_BYTES, "big")
            + day.to_bytes(_DAY_BYTES, "big")
        )
        token = base64.b32encode(body + self._mac(body)).decode().lower()
        return f"{self._before}{token}{self._after}@{self._domain}"

    def find(self, texts: Iterable[str]) -> ReplyTarget | None:
        """Return the target of the first address that this site signed, even if it has expired."""
        if not self.is_on:
            return None
        return next((target for token in self._tokens(texts) if (target := self._read(token))), None)

    def is_own(self, address: str) -> bool:
        """True if the address has the form of a reply address, signed or not."""
        return self.is_on and self._pattern.fullmatch(address) is not None

    def removed_from(self, text: str) -> str:
        """Return the text without reply addresses, because an address is a secret of its person.

        Tokens are found anywhere in the text, also if a quote wraps them over several lines.
        """
        text = self._pattern.sub("…", text)
        pieces, place = [], 0
        for start, end in sorted(span for run in _RUN.finditer(text) for span in self._signed(run)):
            pieces += [text[place:start], "…" if start >= place else ""]
            place = max(place, end)
        return "".join([*pieces, text[place:]])

    def _signed(self, run: re.Match[str]) -> Iterator[tuple[int, int]]:
        """Yield the positions of this site's tokens in a run of base32 characters.

        A token may begin at any character. So the run is decoded from each of its first 8 characters.
        """
        positions = [run.start() + at for at, character in enumerate(run[0]) if character in _ALPHABET]
        characters = "".join(run.string[place] for place in positions).upper()
        for first in range(min(_QUANTUM, len(positions) - TOKEN_LENGTH + 1)):
            whole = (len(positions) - first) // _QUANTUM * _QUANTUM
            content = base64.b32decode(characters[first : first + whole])
            for at in range(0, len(content) - _TOKEN_BYTES + 1, _QUANTUM_BYTES):
                token = content[at : at + _TOKEN_BYTES]
                if hmac.compare_digest(token[-_MAC_BYTES:], self._mac(token[:-_MAC_BYTES])):
                    begin = first + at // _QUANTUM_BYTES * _QUANTUM
                    yield positions[begin], positions[begin + TOKEN_LENGTH - 1] + 1

    def _tokens(self, texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            yield from self._pattern.findall(text)

    def _read(self, token: str) -> ReplyTarget | None:
        content = base64.b32decode(token.upper())
        body, mac = content[:-_MAC_BYTES], content[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(body)):
            return None
        account_id, issue_id = body[:_ID_BYTES], body[_ID_BYTES : 2 * _ID_BYTES]
        day = int.from_bytes(body[2 * _ID_BYTES :], "big")
        return ReplyTarget(
            int.from_bytes(account_id, "big"),
            int.from_bytes(issue_id, "big"),
            _FIRST_DAY + timedelta(days=day),
        )

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._key, _PURPOSE + body, "sha256")[:_MAC_BYTES]
