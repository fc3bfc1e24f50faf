"""The part of an issue's row that says who is to review a pull request: people and teams, as one JSON text."""

from functools import lru_cache
from typing import NamedTuple

import msgspec
from sqlalchemy import literal_column, select

from ingot_contracts.identity import Team
from ingot_issues.store.accounts import PERSON_COLUMNS, Person
from ingot_issues.store.json_rows import JsonRows
from ingot_issues.store.states import ReviewState
from ingot_issues.store.tables import account, issue, review, team
from ingot_issues.store.teams import team_of

_DECODED = 512
"""Texts that stay decoded: many pull requests of a list have the same reviewers."""


class RequestedReviewer(NamedTuple):
    """A person who is to review, or a team; all of the account is None when it is deleted, and for a team."""

    position: int
    id: int
    login: str | None
    full_name: str | None
    email: str | None
    avatar_url: str | None
    team_view: str | None

    @property
    def person(self) -> Person | None:
        """None when the account is deleted, and for a team."""
        if self.login is None:
            return None
        return Person(self.id, self.login, self.full_name or "", self.email or "", self.avatar_url or "")

    @property
    def team(self) -> Team | None:
        """None for a person."""
        return team_of(self.team_view) if self.team_view is not None else None


REVIEWERS_JSON = (
    select(JsonRows(review.c.id, review.c.author_id, *PERSON_COLUMNS[1:], team.c.view))
    .select_from(
        review.outerjoin(account, account.c.id == review.c.author_id).outerjoin(
            team, team.c.id == review.c.team_id
        )
    )
    .where(
        review.c.issue_id == issue.c.id,
        review.c.state == literal_column(f"'{ReviewState.REQUEST_REVIEW}'"),
    )
    .correlate(issue)
    .scalar_subquery()
)
"""Rows of ``RequestedReviewer``."""

_DECODER = msgspec.json.Decoder(list[RequestedReviewer])


@lru_cache(_DECODED)
def requested_reviewers(text: str) -> tuple[RequestedReviewer, ...]:
    """In the order in which they were asked."""
    return tuple(sorted(_DECODER.decode(text)))
