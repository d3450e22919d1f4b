"""What notebooks show of graphs, results and reports, and their plots. Imported when used; independent of Dask."""
