"""Handlers of events of other services that cause mails."""
