"""Loads the plugin; rendered by kvconform, do not edit."""

pytest_plugins = ["kvconform.plugin"]
