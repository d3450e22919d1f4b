"""Solvers for PageRank, Katz centrality and HITS, which gather along edges."""
