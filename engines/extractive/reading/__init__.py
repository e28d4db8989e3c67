"""Reads sentences and questions: values, names, attributes, and how people phrase things."""
