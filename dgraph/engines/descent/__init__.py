"""Parts of `engines/block_descent.py`: its options, its state, and the drivers that let daemons take blocks."""
