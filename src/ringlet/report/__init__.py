"""Metrics and pictures of restorations."""
