"""The state of a partition while a program runs: its arrays, and what a round does to them, in the engine's order."""
