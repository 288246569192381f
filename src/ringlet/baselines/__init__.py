"""The ten methods that the paper compares with, one file each."""
