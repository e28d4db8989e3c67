"""Compares statements: what contradicts, what says the same, what settles it."""
