"""What one process of hooks holds beside what the chassis holds for every service."""

from dataclasses import dataclass

from ingot_chassis.security.sealing import Seal
from ingot_hooks.clients.identity import HttpIdentity
from ingot_hooks.clients.repos import HttpRepos
from ingot_hooks.core.wakeup import Wakeup


@dataclass(frozen=True)
class Components:
    """``delivery_wakeup`` and ``permission_wakeup`` wake the workers that send deliveries and check permissions."""

    identity: HttpIdentity
    repos: HttpRepos
    seal: Seal
    delivery_wakeup: Wakeup
    permission_wakeup: Wakeup
