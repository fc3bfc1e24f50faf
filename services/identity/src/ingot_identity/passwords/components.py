"""Objects of passwords that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.passwords.rules.proofs import PasswordChecks


@dataclass(frozen=True)
class PasswordComponents:
    checks: PasswordChecks
