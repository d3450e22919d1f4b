"""Text formats: delimited text, DIMACS, KONECT, METIS, Matrix Market, Graphalytics, and the reader that they share."""
