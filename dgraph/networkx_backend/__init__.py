"""The NetworkX backend: graphs of NetworkX, and its functions by our operations. Its algorithms are never called."""
