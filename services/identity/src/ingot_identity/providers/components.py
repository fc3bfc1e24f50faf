"""Objects of providers that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.providers.clients.metadata import PublishedMetadata
from ingot_identity.providers.rules.requests import Envelope, PersonReader


@dataclass(frozen=True)
class ProviderComponents:
    published: PublishedMetadata
    people: PersonReader
    envelope: Envelope
