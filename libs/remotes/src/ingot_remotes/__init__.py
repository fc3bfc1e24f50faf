"""Clients of servers elsewhere: their APIs, their LFS servers, and archives of what they had."""
