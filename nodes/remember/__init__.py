"""The stages of remember: one function per file; state in, update out."""
