"""What is done around an agent with four tiers of memory: recalled before, shown and condensed during, kept after."""
