"""Objects of authentication that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.authentication.rules.signing_keys import SigningKeys


@dataclass(frozen=True)
class AuthenticationComponents:
    signing_keys: SigningKeys
