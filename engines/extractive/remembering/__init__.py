"""Memories of conversations: what is extracted, how it is searched, updated and deleted."""
