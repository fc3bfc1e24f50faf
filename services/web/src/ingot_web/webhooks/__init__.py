"""Webhooks of repositories, organizations and accounts, with their deliveries."""
