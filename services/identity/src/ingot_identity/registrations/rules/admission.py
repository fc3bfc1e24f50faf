"""The registration setting, which decides who may create an account."""

from collections.abc import Sequence
from typing import Literal

from ingot_chassis.errors import CannotStart, Invalid, NotFound

Mode = Literal["closed", "open", "domain", "approval"]


class Admission:
    """Decides who may register.

    Raises CannotStart for the mode ``domain`` without domains, or without mail to confirm addresses.
    """

    def __init__(self, mode: Mode, domains: Sequence[str], *, sends_mail: bool) -> None:
        self.mode = mode
        self._domains = frozenset(domain.strip().lower().lstrip("@") for domain in domains)
        if mode != "domain":
            return
        if not self._domains - {""}:
            raise CannotStart("INGOT_IDENTITY_REGISTRATION_DOMAINS: name the domains that may register")
        if not sends_mail:
            raise CannotStart(
                "INGOT_IDENTITY_REGISTRATION: `domain` needs mail, which confirms the addresses"
            )

    @property
    def is_open(self) -> bool:
        """Return True if people may request an account."""
        return self.mode != "closed"

    def require_open(self) -> None:
        """Raise NotFound if registration is closed."""
        if not self.is_open:
            raise NotFound

    def require_address(self, address: str) -> None:
        """Raise Invalid if the domain of the address may not register. Subdomains are other domains."""
        if self.mode == "domain" and address.rpartition("@")[2].lower() not in self._domains:
            raise Invalid.field("email", "domain", "is of a domain that may not register here")
