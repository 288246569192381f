"""Slices appended to a fitted ring."""
