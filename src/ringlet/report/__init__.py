"""Numbers and pictures for people: how good a restoration is, and how it looks."""
