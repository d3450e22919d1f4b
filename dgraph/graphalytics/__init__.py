"""The LDBC Graphalytics benchmark: data sets, the six algorithms, validation. Its commands are in `cli/`."""
