"""The experiments of the paper: what is run, how it is damaged and scored, and how the outcome is drawn."""
