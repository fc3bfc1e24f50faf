"""The objects of recovery that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.passwords.rules.quotas import NetworkQuota

MOST_REQUESTS = 20
"""Requests for a link that a network may send."""


@dataclass(frozen=True)
class RecoveryComponents:
    quota: NetworkQuota
