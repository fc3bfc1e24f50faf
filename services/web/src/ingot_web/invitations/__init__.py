"""The page of an invitation's link."""
