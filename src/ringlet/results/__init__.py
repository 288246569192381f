"""What comes out of a fit: its record, its ring, and what it says of the data."""
