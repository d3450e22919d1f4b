"""Columnar formats: Parquet and NumPy archives, and the Arrow tables that readers and writers share."""
