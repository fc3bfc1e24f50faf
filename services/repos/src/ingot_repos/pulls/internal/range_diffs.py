"""An internal route for issues: the commits of two heads of a pull request in pairs."""

import msgspec
from litestar import get

from ingot_chassis.errors import NotFound, TooLarge, Unavailable
from ingot_contracts.repos.range_diffs import RangeDiff
from ingot_git.history.range_diffs import commit_series, range_diff
from ingot_git.process.cpu_time import CpuBudget
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    GitTooExpensive,
    ObjectNotFound,
    OutputTooLarge,
    RepositoryNotFound,
)
from ingot_git.refs.refs import is_full_id
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.pulls.internal.pulls import REPOSITORY, enter
from ingot_repos.repositories.internal.lookups import ISSUES

IN_A_CLONE = "compare the heads with git range-diff in a clone"
SERIES_SECONDS = 0.3
"""CPU time for the commits of both heads."""
FAILED = "the heads could not be compared; try again"


@get(REPOSITORY + "/range-diff", policy=ISSUES, include_in_schema=False)
async def get_range_diff(
    request: RepositoryRequest,
    repository_id: int,
    old: str = "",
    new: str = "",
    base: str = "",
    base_tip: str = "",
) -> RangeDiff:
    """Return the commits of two heads in pairs, see ``RangeDiff``.

    The caller must be able to read the repository. A head may be outside every visible history, because a
    push has replaced it (ADR 57).
    """
    if not is_full_id(old) or not is_full_id(new):
        raise NotFound("there is no such commit")
    await enter(request, repository_id, unattended=False)
    request.acquire_slot()
    series, missing, budget = [], old, CpuBudget(SERIES_SECONDS)
    bases = [base_tip, base]
    try:
        for missing in (old, new):
            series.append(await request.storage.call(repository_id, commit_series, missing, bases, budget))
    except RepositoryNotFound:
        raise NotFound from None
    except ObjectNotFound:
        return RangeDiff(missing=missing)
    except OutputTooLarge as error:
        raise TooLarge(f"{error}; {IN_A_CLONE}") from error
    except GitTooExpensive as error:
        raise TooLarge(f"the histories are too long; {IN_A_CLONE}") from error
    except (GitFailed, GitTimedOut) as error:
        raise Unavailable(FAILED) from error
    try:
        pairs = await range_diff(request.storage.path(repository_id), *series)
    except (OutputTooLarge, GitTooExpensive) as error:
        raise TooLarge(f"the differences are too large; {IN_A_CLONE}") from error
    except (GitFailed, GitTimedOut) as error:
        raise Unavailable(FAILED) from error
    return msgspec.convert({"pairs": pairs}, RangeDiff, from_attributes=True)


routes = [get_range_diff]
