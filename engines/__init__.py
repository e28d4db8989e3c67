"""Engines make the judgements: their protocols, and the extractive engine and the chat engine."""
