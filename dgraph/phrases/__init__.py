"""The wording of messages: counts, options, suggestions, safe text. Errors are raised elsewhere."""
