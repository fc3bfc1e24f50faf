"""Refs that a push may not move.

They are determined again if the push took long, because access may have ended.
"""

from collections.abc import Awaitable, Callable, Sequence

from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import is_outage
from ingot_chassis.errors import ApiError, NotFound, Unauthenticated, Unavailable
from ingot_contracts.repos.access import reaches
from ingot_git.changes.proposals import FOR
from ingot_git.hooks.hook_questions import UNKNOWN
from ingot_git.hooks.update_hook import RefRefusal
from ingot_git.process.configuration import HIDDEN_REFS
from ingot_git.refs.refs import BRANCHES, ZERO_OID, RefChange
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.protection.rules.decisions import Rules, rules_of
from ingot_repos.pushes.rules.pushers import Pusher

ENDED = "your access to the repository ended during the push"
OTHER_RULES = "the rules of the repository changed during the push; push again"
NEEDS_WRITE = "needs write access to the repository; refs/for/<branch> opens a pull request"
MAINTAINED = "its pull request lets you push commits to this branch, and neither create nor delete it"
PROTECTED = "a rule protects the branch; only users with write access to the repository may push to it"
NO_PULLS = "you have no access to the pull requests of the repository"
BLOCKED = "the owner of the repository has blocked you"


Renew = Callable[[], Awaitable[tuple[ResolvedRepository, Pusher]]]
"""Finds repository and pusher again by the same credential. Raises the ApiError for a rejected push."""


def find_refusals(rules: Rules, pusher: Pusher, commands: Sequence[RefChange]) -> list[RefRefusal]:
    """Return the reasons against ref updates. Proposals are not checked."""
    if not reaches(pusher.actor.level, "write"):
        return [
            RefRefusal(one.name, reason)
            for one in commands
            if (reason := _refusal_of_maintainer(rules, pusher, one))
        ]
    hidden = [one.name for one in commands if one.name.startswith(HIDDEN_REFS)]
    return rules.refusals(pusher.actor, commands) + [
        RefRefusal(name, "no push may name this ref") for name in hidden
    ]


def _refusal_of_maintainer(rules: Rules, pusher: Pusher, change: RefChange) -> str:
    """Return the reason why a pusher without write access may not make a change; empty if allowed.

    Maintainers may not create or delete branches, and no rule lets them push to a protected branch.
    """
    branch = change.name.removeprefix(BRANCHES)
    if branch == change.name or branch not in pusher.maintained:
        return NEEDS_WRITE
    if ZERO_OID in (change.before, change.after):
        return MAINTAINED
    return PROTECTED if rules.of_branch(branch) is not None else ""


async def refusal_of_proposals(identity: HttpIdentity, row: RepositoryRow, pusher: Pusher) -> str:
    """Return the reason why the pusher may not propose commits; empty if allowed."""
    if row.wiki_of is not None:
        return "a wiki has no pull requests"
    if not pusher.reads_pulls:
        return NO_PULLS
    owner_id, id_ = row.owner_id, pusher.actor.id
    is_blocked = id_ not in (0, owner_id) and await identity.is_blocked(owner_id, id_)
    return BLOCKED if is_blocked else ""


async def refusal_of_late_push(
    database: Database,
    identity: HttpIdentity,
    renew: Renew,
    commands: Sequence[RefChange],
    earlier: Sequence[RefRefusal],
) -> str:
    """Check a push that took long again. Return the reason why no ref may move; empty if allowed.

    A push is rejected if its access has ended. It is also rejected if rules now reject an update that is not
    in ``earlier``.
    """
    others = [one for one in commands if not one.name.startswith(FOR)]
    try:
        repository, pusher = await renew()
        async with database.read() as db:
            rules = await rules_of(db, repository.id)
        refusals = find_refusals(rules, pusher, others)
        proposes = len(others) < len(commands)
        blocked = proposes and await refusal_of_proposals(identity, repository.row, pusher)
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
