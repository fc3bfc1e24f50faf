"""The objects of registration that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.passwords.rules.quotas import NetworkQuota

MOST_REGISTRATIONS = 20
"""Forms to register that a network may send."""


@dataclass(frozen=True)
class RegistrationComponents:
    quota: NetworkQuota
