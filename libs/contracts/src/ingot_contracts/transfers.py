"""Transfers of repositories that wait for their new owners, as the API shows one and as web lists them."""

from datetime import datetime

import msgspec

from ingot_contracts.identity import Team, User


class RepositoryTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """``teams`` are those of the new owner that get the repository."""

    doer: User
    recipient: User
    teams: list[Team] = []


class TransferOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer as its new owner is told of it, who may not see the repository yet: no more of it than its name."""

    full_name: str
    doer: User
    recipient: User
    created_at: datetime


class TransferOffers(msgspec.Struct, frozen=True, kw_only=True):
    """The latest transfers that wait for the caller, and how many there are."""

    offers: list[TransferOffer] = []
    total: int = 0
