#!/bin/sh
# Called by the harness of LDBC Graphalytics; PYTHON names the interpreter that has dgraph.
exec "${PYTHON:-python3}" -m dgraph.cli.graphalytics_driver unload-graph "$@"
