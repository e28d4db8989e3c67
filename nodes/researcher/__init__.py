"""The stages of the researcher: one function per file; state in, update out."""
