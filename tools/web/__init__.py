"""The public web as an agent reaches it: search, and visit of a page."""
