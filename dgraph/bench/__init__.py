"""`dgraph bench`: suites of measurements, what runs and verifies them, and what shows them. Plots are in `plots/`."""
