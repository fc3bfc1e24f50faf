"""Sign-ins from new networks.

A network is a /24 of IPv4, or the network of one customer with IPv6. Browsers are not compared. Their names
change with each update, and an attacker can send any name.
"""

import ipaddress

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.http.concurrency import network_of as customer_network
from ingot_identity.messages.rules import Messages, in_words
from ingot_identity.networks import store

SESSIONS = "/user/settings/security"
"""The path of the page where people end their sessions and change their password."""
IPV4_NETWORK = 24


async def note_sign_in(tx: Tx, messages: Messages, account_id: int, *, address: str, user_agent: str) -> None:
    """Record the network of a sign-in. Send a mail about a new network, except about the first network.

    Without an SMTP server this does nothing.
    """
    if not messages.is_on:
        return
    digest = messages.digest_of(f"network {network_of(address)}")
    earlier = await store.list_of(tx, account_id)
    await store.save(tx, account_id, digest)
    if earlier and digest not in earlier:
        await messages.notify(
            tx,
            "new_sign_in",
            account_id,
            page=SESSIONS,
            time=in_words(now()),
            address=address,
            program=user_agent[:200],
        )


def network_of(address: str) -> str:
    """Return the network of an address. Other texts are returned unchanged."""
    network = customer_network(address)
    try:
        return str(ipaddress.IPv4Network((network, IPV4_NETWORK), strict=False))
    except ValueError:
        return network
