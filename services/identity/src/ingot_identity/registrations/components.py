"""The objects of registration that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.passwords.rules.quotas import NetworkQuota
from ingot_identity.registrations.rules.admission import Admission
from ingot_identity.registrations.rules.work import WorkChallenges

MOST_REGISTRATIONS = 20
"""Forms to register that a network may send."""


@dataclass(frozen=True)
class RegistrationComponents:
    quota: NetworkQuota
    admission: Admission
    work: WorkChallenges
