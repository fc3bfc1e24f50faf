"""Objects of recovery that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.passwords.rules.quotas import NetworkQuota

MOST_REQUESTS = 20
"""Maximum number of requests for a link from one network."""


@dataclass(frozen=True)
class RecoveryComponents:
    quota: NetworkQuota
