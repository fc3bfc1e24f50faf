"""Pending transfers of repositories, as the API shows one and as web lists them."""

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
    """A transfer as its new owner sees it.

    The owner may not see the repository yet, so it has only the name.
    """

    full_name: str
    doer: User
    recipient: User
    created_at: datetime


class TransferOffers(msgspec.Struct, frozen=True, kw_only=True):
    """The latest transfers that wait for the caller, and their number."""

    offers: list[TransferOffer] = []
    total: int = 0
