# The command line as steps of a pipeline: make rebuilds files that are older than their inputs, and a step that fails
# leaves no half-written file behind. Run with: make -f examples/pipeline.mk -C SOME_FOLDER
DGRAPH ?= dgraph
.DELETE_ON_ERROR:

report.json: ranks.parquet components.csv
	$(DGRAPH) info --json > $@

edges.parquet:
	$(DGRAPH) generate rmat --scale 12 --weights 1 9 -o $@

graph.dgraph: edges.parquet
	$(DGRAPH) partition $< --parts 2 --overwrite -o $@

ranks.parquet: graph.dgraph
	$(DGRAPH) run pagerank $< -o $@

components.csv: graph.dgraph
	$(DGRAPH) run wcc $< -o $@
