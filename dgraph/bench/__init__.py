"""`dgraph bench`: suites of measurements, and the code that runs, verifies and shows them. Plots are in `plots/`."""
