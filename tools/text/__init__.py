"""Reads English and Chinese text without a model: cleaning, terms, sentences, sizes, names, secrets; in linear time."""
