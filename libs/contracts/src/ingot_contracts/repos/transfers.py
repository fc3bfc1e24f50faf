"""Pending transfers of repositories: a transfer in the form of the API, and the list for web."""

from datetime import datetime

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.teams import Team


class RepositoryTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """A pending transfer. ``teams`` are the teams of the new owner that will get the repository."""

    doer: User
    recipient: User
    teams: list[Team] = []


class TransferOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer for display to its new owner.

    The owner may not have access to the repository yet, so only the name is included.
    """

    full_name: str
    doer: User
    recipient: User
    created_at: datetime


class TransferOffers(msgspec.Struct, frozen=True, kw_only=True):
    """The latest transfers that the caller may accept, and their number."""

    offers: list[TransferOffer] = []
    total: int = 0
