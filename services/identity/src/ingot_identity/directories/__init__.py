"""Directories (LDAP): people sign in with the passwords that a directory has."""
