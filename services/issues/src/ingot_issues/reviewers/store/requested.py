"""The requested reviewers of a pull request, people and teams, as one JSON text in its row."""

from functools import lru_cache
from typing import NamedTuple

import msgspec
from sqlalchemy import (
    String,
    case,
    func,
    literal_column,
    select,
)

from ingot_contracts.identity.teams import Team
from ingot_issues.accounts.store import PERSON_COLUMNS, Person, account
from ingot_issues.records.store.json_rows import JsonRows
from ingot_issues.records.store.tables import issue
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviewers.store.tables import review, review_comment, team
from ingot_issues.reviewers.store.teams import team_of

_DECODED = 512
"""Maximum number of cached decoded texts. Many pull requests of a list have equal reviewers."""


class RequestedReviewer(NamedTuple):
    """A requested person or team. The fields of the account are None for a team or a deleted account."""

    position: int
    id: int
    login: str | None
    full_name: str | None
    email: str | None
    avatar_url: str | None
    profile: str | None
    team_view: str | None

    @property
    def person(self) -> Person | None:
        """Return the person, or None for a deleted account or a team."""
        if self.login is None:
            return None
        return Person(
            self.id,
            self.login,
            self.full_name or "",
            self.email or "",
            self.avatar_url or "",
            self.profile,
        )

    @property
    def team(self) -> Team | None:
        """Return the team, or None for a person."""
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
"""The rows of ``RequestedReviewer`` as JSON."""

_DECODER = msgspec.json.Decoder(list[RequestedReviewer])


@lru_cache(_DECODED)
def requested_reviewers(text: str) -> tuple[RequestedReviewer, ...]:
    """Decode the requested reviewers. Return them in the order of the requests."""
    return tuple(sorted(_DECODER.decode(text)))


IS_SUBMITTED = review.c.state != literal_column(f"'{ReviewState.PENDING}'", String)
_LINE_COMMENTS = (
    select(func.count())
    .select_from(review_comment.join(review, review.c.id == review_comment.c.review_id))
    .where(review.c.issue_id == issue.c.id, IS_SUBMITTED)
    .correlate(issue)
    .scalar_subquery()
)


LINE_COMMENTS = case((issue.c.is_pull, _LINE_COMMENTS), else_=literal_column("0"))
"""A column with the number of comments on lines in submitted reviews of an issue."""
