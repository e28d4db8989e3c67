"""Texts as vectors: the models that run in this process, and the cache of what they made."""
