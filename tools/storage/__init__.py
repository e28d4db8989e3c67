"""What is on disk: SQLite files that survive damage, and stores of LangGraph on top of them."""
