"""The page behind the link of an invitation."""
