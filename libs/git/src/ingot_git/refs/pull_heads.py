"""The ref with the head of a pull request.

It is `refs/pull/7/head`. When the pull request is closed without a merge, a hidden ref replaces it. The API
reads both refs, because closed pull requests stay readable.
"""

from typing import Literal

import pygit2

from ingot_git.process.configuration import CLOSED_PULLS
from ingot_git.refs.refs import ZERO_OID, RefChange, ref_target

PULLS = "refs/pull/"
HeadState = Literal["visible", "hidden", "gone"]


def visible_ref(number: int) -> str:
    return f"{PULLS}{number}/head"


def hidden_ref(number: int) -> str:
    return f"{CLOSED_PULLS}{number}/head"


def head_ref(repo: pygit2.Repository, number: int) -> str:
    """Return the ref that has the head: the hidden ref if it exists, else the visible ref.

    Only `changes_of_state` switches between the two refs.
    """
    hidden = hidden_ref(number)
    return visible_ref(number) if ref_target(repo, hidden) is None else hidden


def changes_of_state(repo: pygit2.Repository, number: int, state: HeadState) -> list[RefChange]:
    """Return the ref changes that bring a head into a state. The state ``gone`` deletes both refs.

    The list is empty if the head has that state or is not stored.

    If both refs exist, a comparison that began earlier wrote the visible ref. So the visible ref is newer.
    """
    names = {"visible": visible_ref(number), "hidden": hidden_ref(number)}
    tips = {name: tip for name in names.values() if (tip := ref_target(repo, name)) is not None}
    target = names.get(state, "")
    changes = [RefChange(name, tip, ZERO_OID) for name, tip in tips.items() if name != target]
    latest, before = next(iter(tips.values()), ZERO_OID), tips.get(target, ZERO_OID)
    if target and latest != before:
        changes.append(RefChange(target, before, latest))
    return changes
