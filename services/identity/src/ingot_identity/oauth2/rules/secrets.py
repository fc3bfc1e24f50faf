"""Secrets of OAuth2: random, with a prefix per kind, shown once, stored as SHA-256 (``tokens.digest``)."""

import re
import secrets

_ACCESS = re.compile(r"ioa_[0-9a-f]{40}")


def new_client_secret() -> str:
    return f"ioc_{secrets.token_hex(32)}"


def new_code() -> str:
    return secrets.token_hex(32)


def new_access_token() -> str:
    return f"ioa_{secrets.token_hex(20)}"


def new_refresh_token() -> str:
    return f"ior_{secrets.token_hex(32)}"


def has_access_token_format(text: str) -> bool:
    return _ACCESS.fullmatch(text) is not None
