"""Objects of the OAuth2 provider that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.oauth2.rules.id_token_keys import IdTokenKeys


@dataclass(frozen=True)
class OAuth2Components:
    """Components of OAuth2. ``issuer`` is the public URL, without a slash at the end."""

    id_token_keys: IdTokenKeys
    issuer: str
