"""A partition while a program runs: its arrays, and what a round does to them. `engines/` decides the order."""
