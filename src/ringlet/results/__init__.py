"""What a fit tells: while it runs, where it is set aside, and when it is done."""
