"""The reference connector: a real one, small enough to read in one sitting.

It imports the ports of `kvconform` and nothing else of it.
"""

from kvconform_reference.connector import ReferenceConnector, make_connector

__all__ = ["ReferenceConnector", "make_connector"]
