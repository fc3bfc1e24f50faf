"""Reactions to issues and comments."""

from typing import Literal

ReactionContent = Literal["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"]
