"""Readers and writers of graphs, one format per file, and generators. Building partitions is up to `building/`.

`formats.read_edge_list` and `formats.write_edge_list` dispatch to all formats: text in `text/`, columns in `columnar/`,
graphs of other libraries in `libraries/`, generators in `generate/`.
"""
