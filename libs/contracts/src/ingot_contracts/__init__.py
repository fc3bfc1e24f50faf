"""What crosses a wall: events and internal API shapes, one module per owning service.

Only msgspec and the standard library. Fields are only ever added, with a default; a breaking change is a new
tag (``….v2``) that is emitted beside the old one. Every sample in ``golden/`` decodes for ever.
"""
