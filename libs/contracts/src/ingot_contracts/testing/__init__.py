"""Fakes of services for tests of other services. The owner checks each fake against its real internal API."""
