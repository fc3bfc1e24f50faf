"""The objects of preferences that live as long as the process."""

from dataclasses import dataclass

from ingot_mail.clients.repos import HttpRepos
from ingot_mail.preferences.rules import UnsubscribeLinks


@dataclass(frozen=True)
class PreferenceComponents:
    """``repos`` knows the repositories of the paths."""

    repos: HttpRepos
    links: UnsubscribeLinks
