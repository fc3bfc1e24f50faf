"""Objects of sources that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.sources.rules.sources import Secrets


@dataclass(frozen=True)
class SourceComponents:
    secrets: Secrets
