"""The page of an invitation link."""
