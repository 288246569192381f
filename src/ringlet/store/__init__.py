"""Files: .ring files, checkpoints, outputs, and atomic writing."""
