"""Who pushes, which refs they may not move, and whether all that still holds when a push took long."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from ingot_chassis.db.driver import is_outage
from ingot_chassis.errors import ApiError, NotFound, Unauthenticated, Unavailable
from ingot_contracts.repos import reaches
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core.protections import Actor, Rules, rules_of
from ingot_repos.git.configuration import HIDDEN_REFS
from ingot_repos.git.hook_questions import UNKNOWN
from ingot_repos.git.proposals import FOR
from ingot_repos.git.refs import RefChange
from ingot_repos.git.update_hook import RefRefusal

ENDED = "your access to the repository ended while the push was on its way"
OTHER_RULES = "the rules of the repository changed while the push was on its way; push again"
NEEDS_WRITE = "needs write access to the repository; refs/for/<branch> opens a pull request"
BLOCKED = "the owner of the repository has blocked you"


class Pusher(msgspec.Struct, frozen=True):
    """Who pushes: the account that is named, and the actor for the rules; ``restricted`` as of ``PushReceived``."""

    account_id: int
    actor: Actor
    restricted: bool


Renew = Callable[[], Awaitable[tuple[ResolvedRepository, Pusher]]]
"""Finds the repository and who pushes anew, with the same credential; raises the ApiError for which a push does not begin."""


def find_refusals(rules: Rules, pusher: Pusher, commands: Sequence[RefChange]) -> list[RefRefusal]:
    """Of what moves refs and proposes nothing."""
    if not reaches(pusher.actor.level, "write"):
        return [RefRefusal(one.name, NEEDS_WRITE) for one in commands]
    hidden = [one.name for one in commands if one.name.startswith(HIDDEN_REFS)]
    return rules.refusals(pusher.actor, commands) + [
        RefRefusal(name, "no push may name this ref") for name in hidden
    ]


async def refusal_of_proposals(
    request: RepositoryRequest, repository: ResolvedRepository, pusher: Pusher
) -> str:
    """Why they may propose nothing; empty if they may."""
    owner_id, id_ = repository.row.owner_id, pusher.actor.id
    is_blocked = id_ not in (0, owner_id) and await request.components.identity.is_blocked(owner_id, id_)
    return BLOCKED if is_blocked else ""


async def refusal_of_late_push(
    request: RepositoryRequest,
    renew: Renew,
    commands: Sequence[RefChange],
    earlier: Sequence[RefRefusal],
) -> str:
    """Why none of its refs may move; empty when nothing is refused but what was refused ``earlier``."""
    others = [one for one in commands if not one.name.startswith(FOR)]
    try:
        repository, pusher = await renew()
        async with request.db.read() as db:
            rules = await rules_of(db, repository.id)
        refusals = find_refusals(rules, pusher, others)
        blocked = len(others) < len(commands) and await refusal_of_proposals(request, repository, pusher)
    except (NotFound, Unauthenticated):
        return ENDED
    except Unavailable:
        return UNKNOWN
    except ApiError as error:
        return error.message
    except Exception as error:
        if not is_outage(error):
            raise
        return UNKNOWN
    changed = [one for one in refusals if one not in earlier]
    certain = next((one.reason for one in changed if one.is_certain), OTHER_RULES if changed else "")
    return blocked or certain
