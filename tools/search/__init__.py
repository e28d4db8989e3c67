"""Search by keywords and meaning, over passages and over the memories of a bank."""
