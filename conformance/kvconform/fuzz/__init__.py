"""Random layouts and traffic against the oracle; what is found becomes a trace in a file."""
