"""Settings of identity. No other module reads its environment variables."""

from typing import Annotated, Literal

import msgspec

from ingot_chassis.http.pictures import MOST_BYTES
from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """Settings of identity, in addition to the settings of every service."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8081
    sealing_key: Annotated[
        str,
        msgspec.Meta(description="Fernet key (32 bytes, base64url) that seals the signing keys at rest."),
    ] = ""
    signing_key_days: Annotated[
        int,
        msgspec.Meta(
            ge=1, description="Age at which a key that signs principals, or id tokens, is replaced."
        ),
    ] = 30
    password_memory_kib: Annotated[
        int, msgspec.Meta(ge=8, description="Memory of one argon2id hash, in KiB.")
    ] = 65_536
    password_rounds: Annotated[int, msgspec.Meta(ge=1, description="Passes of one argon2id hash.")] = 3
    admin_username: Annotated[
        str, msgspec.Meta(description="Name of the first administrator, made at start if there is none.")
    ] = "root"
    admin_password: Annotated[
        str, msgspec.Meta(description="Password of the first administrator; empty: none is made.")
    ] = ""
    admin_email: Annotated[str, msgspec.Meta(description="Address of the first administrator.")] = (
        "root@localhost.localdomain"
    )
    noreply_address: Annotated[
        str, msgspec.Meta(description="Domain of the addresses shown for people who keep theirs private.")
    ] = "noreply.localhost"
    free_sign_ins: Annotated[
        int,
        msgspec.Meta(
            ge=1, description="Wrong passwords for a name from an address before the next has to wait."
        ),
    ] = 10
    password_length: Annotated[
        int, msgspec.Meta(ge=1, le=255, description="Characters that a new password has at least.")
    ] = 8
    former_name_days: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=36_500,
            description="Days for which the old name of a renamed account stays reserved for it; "
            "links to it work.",
        ),
    ] = 90
    second_factor_required: Annotated[
        Literal["none", "administrators", "everybody"],
        msgspec.Meta(
            description="Accounts that need a second factor: none, administrators or everybody. Without one "
            "they set it up before anything else, and their password works on the sign-in page alone."
        ),
    ] = "none"
    proof_seconds: Annotated[
        int,
        msgspec.Meta(
            ge=60,
            description="Seconds for which a sign-in, or another proof, is enough for forms that change "
            "access or delete something.",
        ),
    ] = 3_600
    avatar_bytes: Annotated[
        int,
        msgspec.Meta(ge=1, le=MOST_BYTES, description="Largest uploaded picture of an account, in bytes."),
    ] = 1_048_576
    deletion_patience: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="Seconds that deleting an account, or making a token for repositories, "
            "waits for news of them.",
        ),
    ] = 1.0
    sources: Annotated[
        str,
        msgspec.Meta(
            description="JSON list of sources of accounts, such as providers of OpenID Connect, or the "
            "path of a file with it. Empty: only those of the administration."
        ),
    ] = ""
    allowed_providers: Annotated[
        list[str],
        msgspec.Meta(
            description="Providers of OpenID Connect at private addresses, at other ports than 443, or "
            "without TLS: networks, addresses or host names, by comma, with or without a port behind a colon."
        ),
    ] = []  # noqa: RUF012 - msgspec copies it
    provider_authorities: Annotated[
        str,
        msgspec.Meta(
            description="PEM file of certificate authorities that providers are trusted by, next to those of "
            "the system."
        ),
    ] = ""
    allowed_directories: Annotated[
        list[str],
        msgspec.Meta(
            description="Directories (LDAP) at private addresses, or at other ports than 389 and 636: "
            "networks, addresses or host names, by comma, with or without a port behind a colon."
        ),
    ] = []  # noqa: RUF012 - msgspec copies it
    registration: Annotated[
        Literal["closed", "open", "domain", "approval"],
        msgspec.Meta(
            description="Who may make an account at /user/sign_up. closed: only invited people. open: "
            "everybody. domain: people with an address of registration_domains, which needs mail. approval: "
            "those whom an administrator approves. Where mail is sent, the address is confirmed first."
        ),
    ] = "closed"
    registration_domains: Annotated[
        list[str],
        msgspec.Meta(description="Domains of addresses that may register, by comma, without subdomains."),
    ] = []  # noqa: RUF012 - msgspec copies it
    registration_work_bits: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=30,
            description="Difficulty of the proof of work in the form to register: each bit doubles it. 16 "
            "takes a browser about a second. 0: none, and the form works without JavaScript.",
        ),
    ] = 16
    proxy_first_sign_in: Annotated[
        Literal["link", "create", "link_or_create"],
        msgspec.Meta(
            description="What the first sign-in of a user of a reverse proxy does "
            "(INGOT_GATEWAY_PROXY_SIGN_IN_NETWORKS): use the account of the same name; create one; or "
            "both. The proxy must name a confirmed address of that account. It may not be an administrator's."
        ),
    ] = "link"
    proxy_sign_ins: Annotated[
        bool,
        msgspec.Meta(
            description="Whether the gateway signs people in for a reverse proxy "
            "(INGOT_GATEWAY_PROXY_SIGN_IN_NETWORKS). Only then a link with a user of the proxy counts as a "
            "way to sign in. `ingot up` sets it by itself."
        ),
    ] = False
    invitations_register: Annotated[
        bool,
        msgspec.Meta(
            description="Whether people who are invited by mail may make an account with the invited "
            "address, also where registration is closed."
        ),
    ] = True
