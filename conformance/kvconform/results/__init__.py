"""What a run leaves behind: outcomes, records, summaries."""
