"""The objects of invitations that live as long as the process."""

from dataclasses import dataclass


@dataclass(frozen=True)
class InvitationComponents:
    may_register: bool
    """True if invited people may make an account, also where registration is closed."""
