"""The pages of Ingot for people: HTML made of what the other services answer to the same caller."""
