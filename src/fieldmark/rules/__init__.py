"""Read and validate configuration: rules files, eval files and rules given in Python."""
