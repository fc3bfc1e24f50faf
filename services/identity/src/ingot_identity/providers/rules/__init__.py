"""Rules for the claims of providers about a person."""
