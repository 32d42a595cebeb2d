"""The equations of radio and computation: each one once, on arrays, with units in the names."""
