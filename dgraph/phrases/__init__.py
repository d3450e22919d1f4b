"""How dgraph words what it says: counts, options, suggestions, safe text. Errors are raised elsewhere."""
