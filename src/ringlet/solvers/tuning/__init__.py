"""What held-out entries decide: rank, penalties and kernel width of an automatic fit."""
