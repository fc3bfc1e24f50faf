"""Requests to a service with a database and an audit log."""

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.http.request import ApiRequest
from ingot_chassis.operations import Detail
from ingot_chassis.telemetry import client_address


class DatabaseRequest(ApiRequest):
    """A request to a service with a database."""

    @property
    def db(self) -> Database:
        return self.app.state.database  # type: ignore[no-any-return]

    async def audit(self, tx: Tx, action: str, subject: str, **details: Detail) -> None:
        """Record in the audit log that the caller did ``action`` to ``subject``, if ``tx`` commits.

        Never pass a secret.
        """
        caller = self.principal
        actor = Actor(caller.id, caller.name, caller.via, caller.sudo_by, client_address())
        await add_entry(tx, actor, action, subject, details)
