"""Write the golden payload of each new event: ``python -m tests.write_golden``, in the folder of the service.

Existing files are never changed: receivers rely on their fields.
"""

from ingot_hooks.payloads.rules import notices

from .payloads.test_notices import GOLDEN, sample_notices

for notice in sample_notices():
    file = GOLDEN / f"{notice.event}.json"
    if not file.exists():
        file.write_bytes(notices.native(notice) + b"\n")
