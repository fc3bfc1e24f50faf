"""Writes the golden payload of each new event: ``python -m tests.write_golden``, in the folder of the service.

One that is there is never written again: receivers have come to rely on it.
"""

from ingot_hooks.core import payloads

from .test_payloads import GOLDEN, everything

for notice in everything():
    file = GOLDEN / f"{notice.event}.json"
    if not file.exists():
        file.write_bytes(payloads.native(notice) + b"\n")
