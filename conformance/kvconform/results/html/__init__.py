"""The report as one HTML page, made from records and nothing else."""

from kvconform.results.html.page import write_html

__all__ = ["write_html"]
