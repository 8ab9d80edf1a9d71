"""The local web application and its HTTP API."""
