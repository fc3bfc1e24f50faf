"""The objects of sign-ins by a reverse proxy that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.reverse_proxies.rules import FirstSignIn


@dataclass(frozen=True)
class ReverseProxyComponents:
    first_sign_in: FirstSignIn
