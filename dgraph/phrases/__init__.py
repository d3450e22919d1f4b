"""How dgraph words what it says: counts, options, suggestions, safe text for terminals. Errors are raised elsewhere."""
