"""Data and pure functions: what flows through the graphs, settings, errors."""
