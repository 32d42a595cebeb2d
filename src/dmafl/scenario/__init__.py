"""The user's description of a world: typed, validated, with units; read from and written to TOML."""
