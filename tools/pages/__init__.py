"""Pages of documents: the store they are kept in, and the index that finds them."""
