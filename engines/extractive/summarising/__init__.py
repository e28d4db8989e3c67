"""Divides texts into topics, and says what each is about."""
