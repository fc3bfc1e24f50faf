"""Tables of the OAuth2 provider and of sign-ins in a browser, and the types of their rows.

All codes and tokens refer to a grant, so deleting the grant ends them.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Boolean, Column, ForeignKey, LargeBinary, String, Table, Text, UniqueConstraint

from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_identity.accounts.store.tables import metadata


class OAuth2TokenKind(StrEnum):
    """Kinds of tokens. A ``REFRESH`` token can be exchanged once for new tokens."""

    ACCESS = "access"
    REFRESH = "refresh"


oauth2_application = Table(
    "oauth2_application",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    # None for one that comes with the server.
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=True, index=True),
    Column("name", String(255), nullable=False),
    Column("client_id", String(36), nullable=False, unique=True),
    Column("secret_sha256", LargeBinary(32), nullable=False),
    # One a line.
    Column("redirect_uris", Text, nullable=False),
    # Whether it can keep its secret; a program on a device of its user cannot.
    Column("confidential", Boolean, nullable=False),
    Column("skip_consent", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    **LASTING_IDS,
)


class OAuth2ApplicationRow(TypedRow):
    id: int
    account_id: int | None
    name: str
    client_id: str
    secret_sha256: bytes
    redirect_uris: str
    confidential: bool
    skip_consent: bool
    created_at: datetime


oauth2_grant = Table(
    "oauth2_grant",
    metadata,
    # What a person has consented to.
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column(
        "application_id", ForeignKey("oauth2_application.id", ondelete="CASCADE"), nullable=False, index=True
    ),
    # Separated by blanks, here and below.
    Column("scopes", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("account_id", "application_id"),
    **LASTING_IDS,
)


class OAuth2ConsentRow(TypedRow):
    id: int
    scopes: str


oauth2_authorization = Table(
    "oauth2_authorization",
    metadata,
    # One code, with every token that came of it.
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("grant_id", ForeignKey("oauth2_grant.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("scopes", Text, nullable=False),
    # As the request named it; empty where it named none.
    Column("redirect_uri", Text, nullable=False),
    Column("code_sha256", LargeBinary(32), nullable=False, unique=True),
    Column("code_challenge", String(128), nullable=False),
    Column("nonce", Text, nullable=False),
    Column("signed_in_at", UtcDateTime, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("code_expires_at", UtcDateTime, nullable=False),
    Column("code_used_at", UtcDateTime),
    # Of the last thing in it that can still be used.
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    **LASTING_IDS,
)


class OAuth2AuthorizationRow(TypedRow):
    """An authorization, with the application and the account of its grant."""

    id: int
    application_id: int
    account_id: int
    scopes: str
    redirect_uri: str
    code_challenge: str
    nonce: str
    signed_in_at: datetime
    code_expires_at: datetime
    code_used_at: datetime | None


oauth2_token = Table(
    "oauth2_token",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column(
        "authorization_id",
        ForeignKey("oauth2_authorization.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("kind", String(10), nullable=False),
    Column("sha256", LargeBinary(32), nullable=False, unique=True),
    Column("scopes", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    # When a refresh token was exchanged for new ones.
    Column("used_at", UtcDateTime),
    **LASTING_IDS,
)


class OAuth2TokenRow(TypedRow):
    """A token, with the application and the account of its grant."""

    id: int
    kind: OAuth2TokenKind
    authorization_id: int
    application_id: int
    account_id: int
    login: str
    scopes: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
