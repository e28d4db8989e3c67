"""The words that models and executors are given."""
