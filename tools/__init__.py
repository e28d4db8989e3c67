"""What reaches out: files, embeddings, indexes."""
