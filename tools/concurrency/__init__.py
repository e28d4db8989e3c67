"""Work in the background, and calls that may not hold anybody up."""
