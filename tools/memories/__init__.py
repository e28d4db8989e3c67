"""Users' memories: what is stored, how it is found again, and how it is deleted."""
