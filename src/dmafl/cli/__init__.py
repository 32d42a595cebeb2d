"""The command `dmafl`: a thin layer that parses, calls the library and prints."""
