"""The eleven stages of the memory bank, one per module."""
