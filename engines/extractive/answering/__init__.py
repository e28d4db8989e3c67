"""Answers from retrieved text, word for word."""
