"""The `ringlet` command."""
