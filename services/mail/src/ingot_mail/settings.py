"""Settings of mail. No other module reads its environment variables."""

from typing import Annotated, Literal

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """Settings of mail, in addition to the settings of every service."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8086
    identity_url: Annotated[str, msgspec.Meta(description="Where identity listens.")] = (
        "http://127.0.0.1:8081"
    )
    repos_url: Annotated[str, msgspec.Meta(description="Where repos listens.")] = "http://127.0.0.1:8082"
    issues_url: Annotated[str, msgspec.Meta(description="Where issues listens.")] = "http://127.0.0.1:8083"
    sealing_key: Annotated[
        str,
        msgspec.Meta(
            description="Fernet key (32 bytes, base64url) that signs links to unsubscribe and "
            "reply addresses, and encrypts refresh tokens."
        ),
    ] = ""
    smtp_host: Annotated[
        str, msgspec.Meta(description="SMTP server that takes all mail; empty: no mail is queued or sent.")
    ] = ""
    smtp_port: Annotated[int, msgspec.Meta(ge=1, le=65535, description="Port of the SMTP server.")] = 587
    smtp_security: Annotated[
        Literal["starttls", "tls", "none"],
        msgspec.Meta(
            description="`starttls` requires it, `tls` encrypts from the start, `none` is for a server on "
            "this machine."
        ),
    ] = "starttls"
    smtp_ca_file: Annotated[
        str,
        msgspec.Meta(description="PEM file of the authorities that sign the server; empty: the system's."),
    ] = ""
    smtp_user: Annotated[str, msgspec.Meta(description="Account at the SMTP server; empty: no sign-in.")] = ""
    smtp_password: Annotated[str, msgspec.Meta(description="Password at the SMTP server.")] = ""
    smtp_oauth_url: Annotated[
        str,
        msgspec.Meta(
            description="Token endpoint of OAuth2 (RFC 6749); with it the sign-in is XOAUTH2 instead of a "
            "password."
        ),
    ] = ""
    smtp_oauth_client: Annotated[str, msgspec.Meta(description="Client id at the token endpoint.")] = ""
    smtp_oauth_secret: Annotated[str, msgspec.Meta(description="Client secret at the token endpoint.")] = ""
    smtp_oauth_refresh: Annotated[
        str, msgspec.Meta(description="Refresh token; empty: the grant is client credentials.")
    ] = ""
    smtp_oauth_scope: Annotated[str, msgspec.Meta(description="Scope asked of the token endpoint.")] = ""
    smtp_seconds: Annotated[
        int, msgspec.Meta(ge=1, le=300, description="Longest silence of the SMTP server.")
    ] = 30
    smtp_connections: Annotated[
        int, msgspec.Meta(ge=1, le=50, description="Connections to the SMTP server at once in this process.")
    ] = 4
    smtp_mails_per_connection: Annotated[
        int, msgspec.Meta(ge=1, description="Mails after which a connection is closed.")
    ] = 100
    smtp_mails_per_minute: Annotated[
        int, msgspec.Meta(ge=0, description="Mails that this process sends per minute; 0: no limit.")
    ] = 0
    sender: Annotated[
        str,
        msgspec.Meta(
            description="Address that mails come from; empty: `noreply` at the host of the public URL."
        ),
    ] = ""
    site_name: Annotated[str, msgspec.Meta(description="Name of this site in mails.")] = "Ingot"
    retention_days: Annotated[
        int, msgspec.Meta(ge=1, description="Age at which finished mails are dropped.")
    ] = 30
    reply_address: Annotated[
        str,
        msgspec.Meta(
            description="Address for replies by mail, such as `reply+{token}@example.org`; empty: mails take "
            "no replies."
        ),
    ] = ""
    reply_days: Annotated[
        int, msgspec.Meta(ge=1, le=3650, description="Days in which a mail can be replied to.")
    ] = 90
    reply_key: Annotated[
        str,
        msgspec.Meta(
            description="Secret with which a mail server posts incoming mails to /mail/replies, of at least "
            "20 characters; empty: it may not."
        ),
    ] = ""
    imap_host: Annotated[
        str,
        msgspec.Meta(description="IMAP server of the mailbox that takes replies; empty: none is polled."),
    ] = ""
    imap_port: Annotated[int, msgspec.Meta(ge=1, le=65535, description="Port of the IMAP server.")] = 993
    imap_security: Annotated[
        Literal["tls", "starttls", "none"],
        msgspec.Meta(
            description="`tls` encrypts from the start, `starttls` requires it, `none` is for a server on "
            "this machine."
        ),
    ] = "tls"
    imap_ca_file: Annotated[
        str,
        msgspec.Meta(description="PEM file of the authorities that sign the server; empty: the system's."),
    ] = ""
    imap_user: Annotated[str, msgspec.Meta(description="Account at the IMAP server.")] = ""
    imap_password: Annotated[str, msgspec.Meta(description="Password at the IMAP server.")] = ""
    imap_oauth_url: Annotated[
        str,
        msgspec.Meta(
            description="Token endpoint of OAuth2 (RFC 6749); with it the sign-in is OAUTHBEARER or XOAUTH2 "
            "instead of a password."
        ),
    ] = ""
    imap_oauth_client: Annotated[str, msgspec.Meta(description="Client id at the token endpoint.")] = ""
    imap_oauth_secret: Annotated[str, msgspec.Meta(description="Client secret at the token endpoint.")] = ""
    imap_oauth_refresh: Annotated[
        str, msgspec.Meta(description="Refresh token; empty: the grant is client credentials.")
    ] = ""
    imap_oauth_scope: Annotated[str, msgspec.Meta(description="Scope asked of the token endpoint.")] = ""
    imap_folder: Annotated[
        str, msgspec.Meta(min_length=1, description="Folder whose unseen mails are received.")
    ] = "INBOX"
    imap_done_folder: Annotated[
        str,
        msgspec.Meta(
            description="Existing folder to which received mails are moved; empty: they are marked as seen "
            "and stay."
        ),
    ] = ""
    imap_seconds: Annotated[
        int, msgspec.Meta(ge=5, le=3600, description="Time between two polls of the mailbox.")
    ] = 60
    reply_max_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=1, le=50_000_000, description="Size of the largest incoming mail, with its attachments."
        ),
    ] = 10_000_000
