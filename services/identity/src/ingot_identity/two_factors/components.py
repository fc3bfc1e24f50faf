"""Objects of second factors that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.two_factors.rules.proofs import SignIns


@dataclass(frozen=True)
class TwoFactorComponents:
    sign_ins: SignIns
