"""The objects of hooks that live as long as the process."""

from dataclasses import dataclass

from ingot_chassis.security.sealing import Seal
from ingot_hooks.catalog.rules.wakeup import Wakeup
from ingot_hooks.clients.identity import HttpIdentity
from ingot_hooks.clients.repos import HttpRepos


@dataclass(frozen=True)
class Components:
    """The wakeups are for the workers that send deliveries and check permissions."""

    identity: HttpIdentity
    repos: HttpRepos
    seal: Seal
    delivery_wakeup: Wakeup
    permission_wakeup: Wakeup
