"""Objects of invitations that live as long as the process."""

from dataclasses import dataclass


@dataclass(frozen=True)
class InvitationComponents:
    may_register: bool
    """True if invited people may create an account, even if registration is closed."""
