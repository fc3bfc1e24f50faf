"""Ceremonies of WebAuthn: a challenge for a browser, and the check of its authenticator's response.

A challenge is bound to its purpose, its browser and its account. It expires, and it works once. The browser
gets the sealed challenge and sends it back, so a page that begins a ceremony writes nothing. Digests of used
challenges are kept until they expire.
"""

import base64
import hashlib
import hmac
import json
import secrets
import struct
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from fido2 import cbor
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.webauthn import (
    Aaguid,
    AttestedCredentialData,
    AuthenticationResponse,
    CollectedClientData,
    PublicKeyCredentialParameters,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Denied
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passkeys import store
from ingot_identity.passkeys.store import PasskeyRow
from ingot_identity.settings import Settings
from ingot_identity.sources.store.tables import LOCAL

CEREMONY_SECONDS = 300
LONGEST_ANSWER = 16_384
LONGEST_CREDENTIAL_ID, LONGEST_KEY = 1_023, 1_024
ALGORITHMS = (-7, -8, -257)
"""The algorithms ES256, EdDSA and RS256, by their COSE numbers."""
Purpose = Literal["create", "register", "sign_in", "second_factor", "proof"]
CREDENTIAL_PROPERTIES = {"credProps": True}
"""The extension by which a browser says if the authenticator stores the passkey."""
_MALFORMED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    struct.error,
    InvalidSignature,
    UnsupportedAlgorithm,
)
"""Exceptions of the library for a malformed response, which an attacker may send."""


class InvalidPasskey(Denied):
    """The answer of the authenticator is not accepted. ``reason`` is for the log alone."""

    def __init__(self, reason: str) -> None:
        super().__init__("This passkey was not accepted. Load the page again, and try once more.")
        self.reason = reason


class Ceremony(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge that was issued to a browser.

    ``account_id`` is 0 to sign in with any passkey of the site, and to register a new account.
    """

    purpose: Purpose
    challenge: bytes
    browser: str
    account_id: int = 0
    user_handle: bytes = b""
    stands_alone: bool = False
    """The new passkey must be able to sign in without a password."""


class Begun(NamedTuple):
    """The options for the browser as JSON, and the sealed ceremony, which is sent back with the response."""

    options: str
    state: str


class NewPasskey(NamedTuple):
    """A new credential. Its fields are columns of the table."""

    credential_id: bytes
    public_key: bytes
    user_handle: bytes
    sign_count: int


class Passkeys:
    """Begins and finishes ceremonies for the site at the public URL."""

    def __init__(self, settings: Settings) -> None:
        """Read the settings. Raises SettingsError."""
        url = urlsplit(settings.public_url)
        host = url.hostname or ""
        self._origin = _origin(settings.public_url)
        self._seal = Seal.for_purpose(
            settings.sealing_key, "INGOT_IDENTITY_SEALING_KEY", "ingot passkey ceremonies"
        )
        self._server = Fido2Server(
            PublicKeyCredentialRpEntity(id=host or "localhost", name=settings.site_name),
            verify_origin=lambda origin: origin == self._origin,
        )
        self._server.allowed_algorithms = [
            PublicKeyCredentialParameters(type=PublicKeyCredentialType.PUBLIC_KEY, alg=number)
            for number in ALGORITHMS
        ]
        is_local = host == "localhost" or host.endswith(".localhost")
        self.available = is_local or (url.scheme == "https" and not _is_address(host))
        """True if browsers support passkeys here: for host names, over https or on this machine."""

    def begin_creation(
        self, account: AccountRow, rows: Sequence[PasskeyRow], browser: str, *, has_other_way: bool = False
    ) -> Begun:
        """Begin to register a passkey.

        Authenticators that already have one of ``rows`` create no second passkey. An account without a
        password may later have only one passkey. So each of its passkeys must be able to replace the
        password. ``has_other_way``: the account can sign in by the reverse proxy.
        """
        handle = rows[0].user_handle if rows else secrets.token_bytes(32)
        stands_alone = not account.password_hash and account.source_id == LOCAL and not has_other_way
        options, state = self._server.register_begin(
            PublicKeyCredentialUserEntity(
                id=handle, name=account.login, display_name=account.full_name or account.login
            ),
            credentials=[_credential(row) for row in rows],
            resident_key_requirement=ResidentKeyRequirement.REQUIRED
            if stands_alone
            else ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.REQUIRED
            if stands_alone
            else UserVerificationRequirement.PREFERRED,
            extensions=CREDENTIAL_PROPERTIES,
        )
        ceremony = Ceremony(
            purpose="create",
            challenge=_challenge(state),
            browser=browser,
            account_id=account.id,
            user_handle=handle,
            stands_alone=stands_alone,
        )
        return Begun(json.dumps(dict(options.public_key)), self._close(ceremony))

    def begin_registration(self, applicant: str, *, handle: bytes = b"") -> Begun:
        """Begin to create the passkey of an account that does not exist yet.

        The browser inserts the account's name. ``applicant`` is the digest of the browser and its link.
        ``handle`` is the handle of a passkey that was created for a rejected account; the new passkey
        replaces it.
        """
        handle = handle or secrets.token_bytes(32)
        options, state = self._server.register_begin(
            PublicKeyCredentialUserEntity(id=handle, name="", display_name=""),
            resident_key_requirement=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
            extensions=CREDENTIAL_PROPERTIES,
        )
        ceremony = Ceremony(
            purpose="register",
            challenge=_challenge(state),
            browser=applicant,
            user_handle=handle,
            stands_alone=True,
        )
        return Begun(json.dumps(dict(options.public_key)), self._close(ceremony))

    def begin_use(
        self, purpose: Purpose, browser: str, *, account_id: int = 0, rows: Sequence[PasskeyRow] = ()
    ) -> Begun:
        """Begin to use a passkey: one of ``rows``, or else any passkey that the authenticator stores."""
        needed = UserVerificationRequirement.PREFERRED if rows else UserVerificationRequirement.REQUIRED
        options, state = self._server.authenticate_begin(
            [_credential(row) for row in rows] or None, user_verification=needed
        )
        ceremony = Ceremony(
            purpose=purpose, challenge=_challenge(state), browser=browser, account_id=account_id
        )
        return Begun(json.dumps(dict(options.public_key)), self._close(ceremony))

    async def finish_creation(
        self, db: Database, state: str, answer: str, *, browser: str, account_id: int
    ) -> NewPasskey:
        """Return the credential that the authenticator has created. Raises InvalidPasskey."""
        return self._created(await self._use(db, state, "create", browser, account_id), answer)

    async def finish_registration(
        self, db: Database, state: str, answer: str, *, applicant: str
    ) -> NewPasskey:
        """Return the credential for a new account. Its owner has confirmed it with a PIN or a fingerprint.

        Raises InvalidPasskey.
        """
        return self._created(await self._use(db, state, "register", applicant, 0), answer)

    def _created(self, ceremony: Ceremony, answer: str) -> NewPasskey:
        """Return the credential of the authenticator's response. Raises InvalidPasskey."""
        try:
            response = RegistrationResponse.from_dict(_fields(answer))
            _require_own_page(response.response.client_data)
            if ceremony.stands_alone:
                _require_stored(response)
            data = self._server.register_complete(_state(ceremony, verified=ceremony.stands_alone), response)
            credential = data.credential_data
            if credential is None:
                raise ValueError("there is no credential")
            key = cbor.encode(dict(credential.public_key))
            if credential.public_key.get(3) not in ALGORITHMS:
                raise ValueError("the algorithm of the key was not asked for")
            _check_length(credential.credential_id, 16, LONGEST_CREDENTIAL_ID)
            _check_length(key, 1, LONGEST_KEY)
            # A key that no signature can be checked with would lock its owner out.
            _require_usable(credential.public_key)
        except _MALFORMED as error:
            raise InvalidPasskey(str(error)) from error
        return NewPasskey(credential.credential_id, key, ceremony.user_handle, data.counter)

    async def finish_use(
        self,
        db: Database,
        state: str,
        answer: str,
        purpose: Purpose,
        *,
        browser: str,
        account_id: int = 0,
        verified: bool = False,
    ) -> PasskeyRow:
        """Return the passkey that has signed the challenge.

        ``verified`` requires its owner's PIN or fingerprint.

        Raises InvalidPasskey.
        """
        ceremony = await self._use(db, state, purpose, browser, account_id)
        try:
            response = AuthenticationResponse.from_dict(_fields(answer))
            client_data, data = response.response.client_data, response.response.authenticator_data
            handle = response.response.user_handle
        except _MALFORMED as error:
            raise InvalidPasskey(str(error)) from error
        async with db.read() as reader:
            row = await store.get_by_credential(reader, response.raw_id)
        if row is None or (account_id and row.account_id != account_id):
            raise InvalidPasskey("the account has no such passkey")
        if (handle or not account_id) and handle != row.user_handle:
            raise InvalidPasskey("the passkey is of another account")
        try:
            _require_own_page(client_data)
            self._server.authenticate_complete(
                _state(ceremony, verified=verified), [_credential(row)], response
            )
        except _MALFORMED as error:
            raise InvalidPasskey(str(error)) from error
        async with db.transaction() as tx:
            if not await store.mark_used(tx, row.id, data.counter):
                raise InvalidPasskey("the counter of the passkey did not grow: it may have been copied")
        return row

    async def _use(
        self, db: Database, state: str, purpose: Purpose, browser: str, account_id: int
    ) -> Ceremony:
        """Return the ceremony of a sealed state, and mark its challenge as used. Raises InvalidPasskey."""
        try:
            text = self._seal.open(state.encode(), seconds=CEREMONY_SECONDS)
            ceremony = msgspec.json.decode(text, type=Ceremony)
        except (Unreadable, msgspec.DecodeError, ValueError) as error:
            raise InvalidPasskey("the challenge is too old, or not from here") from error
        if (ceremony.purpose, ceremony.account_id) != (purpose, account_id):
            raise InvalidPasskey("the challenge is for something else")
        if not hmac.compare_digest(ceremony.browser, browser):
            raise InvalidPasskey("the challenge is for another browser")
        digest = hashlib.sha256(ceremony.challenge).digest()
        expires_at = now() + timedelta(seconds=2 * CEREMONY_SECONDS)
        async with db.transaction() as tx:
            if not await store.use_challenge(tx, digest, expires_at):
                raise InvalidPasskey("the challenge was used before")
        return ceremony

    def _close(self, ceremony: Ceremony) -> str:
        return (self._seal.close(msgspec.json.encode(ceremony).decode()) or b"").decode()


def browser_of(secret: str) -> str:
    """Return the digest that binds a ceremony to the browser with this secret cookie."""
    return hashlib.sha256(f"ingot passkey {secret}".encode()).hexdigest()


def applicant_of(secret: str, code: str) -> str:
    """Return the digest of the browser with this secret cookie, and of the registration link.

    ``code`` is the code of the link; empty for a form without a link.
    """
    return browser_of(f"{secret} registers by {code}")


def _fields(answer: str) -> Any:
    """Return the response as parsed JSON. Raises ValueError if it is too long or not JSON."""
    if len(answer) > LONGEST_ANSWER:
        raise ValueError("the answer is too long")
    return json.loads(answer)


def _require_own_page(client_data: CollectedClientData) -> None:
    if client_data.cross_origin:
        raise ValueError("the ceremony happened in the frame of another site")


def _require_stored(response: RegistrationResponse) -> None:
    """Raise ValueError if the browser reports that the authenticator does not store the passkey."""
    results: Any = response.client_extension_results
    if (results.get("credProps") or {}).get("rk") is False:
        raise ValueError("the authenticator does not store the passkey")


def _check_length(value: bytes, shortest: int, longest: int) -> None:
    if not shortest <= len(value) <= longest:
        raise ValueError("the credential is too long or too short")


def _require_usable(key: CoseKey) -> None:
    """Raise one of ``_MALFORMED`` for a key that cannot verify a signature.

    The test signature is wrong, which is expected.
    """
    try:
        key.verify(b"", bytes(64))
    except InvalidSignature:
        return


def _credential(row: PasskeyRow) -> AttestedCredentialData:
    key = CoseKey.parse(cast("dict[int, Any]", cbor.decode(row.public_key)))
    return AttestedCredentialData.create(Aaguid.NONE, row.credential_id, key)


def _challenge(state: dict[str, Any]) -> bytes:
    return _decoded(state["challenge"])


def _state(ceremony: Ceremony, *, verified: bool = False) -> dict[str, Any]:
    """Return the state in the format that the library expects."""
    needed = UserVerificationRequirement.REQUIRED if verified else None
    text = base64.urlsafe_b64encode(ceremony.challenge).rstrip(b"=").decode()
    return {"challenge": text, "user_verification": needed}


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _origin(public_url: str) -> str:
    """Return the origin as browsers send it, without the default port."""
    url = urlsplit(public_url)
    default = {"https": 443, "http": 80}.get(url.scheme)
    port = f":{url.port}" if url.port and url.port != default else ""
    host = url.hostname or ""
    return f"{url.scheme}://[{host}]{port}" if ":" in host else f"{url.scheme}://{host}{port}"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
