"""Fakes of services for the tests of other services; each is checked by its owner against the real internal API."""
