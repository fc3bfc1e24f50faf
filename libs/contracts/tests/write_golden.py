"""Write the golden files of event types that have none yet. Existing ones are left as they are."""

from pathlib import Path

import msgspec
from samples import event_classes, sample

GOLDEN = Path(__file__).parent.parent / "golden"

for cls in event_classes():
    file = GOLDEN / f"{cls.__struct_config__.tag}.json"
    if not file.exists():
        file.write_bytes(msgspec.json.format(msgspec.json.encode(sample(cls)), indent=1) + b"\n")
        print("wrote", file.name)
