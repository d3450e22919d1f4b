"""`dgraph bench`: suites, what runs them, and what shows the outcome. `plots/` draws."""
