"""Contracts between services: events and types of the internal API, one package per owning service.

Imports only msgspec and the standard library. Fields are only added, with a default. A breaking change is a
new tag (``….v2``) that is emitted in parallel to the old tag. Every sample in ``golden/`` must remain
decodable.
"""
