"""Objects of accounts that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.accounts.rules.presenter import Presenter


@dataclass(frozen=True)
class AccountComponents:
    presenter: Presenter
