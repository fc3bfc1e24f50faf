"""Objects of preferences that live as long as the process."""

from dataclasses import dataclass

from ingot_mail.clients.repos import HttpRepos
from ingot_mail.preferences.rules import UnsubscribeLinks


@dataclass(frozen=True)
class PreferenceComponents:
    """Components of preferences. ``repos`` looks up the repositories in paths."""

    repos: HttpRepos
    links: UnsubscribeLinks
