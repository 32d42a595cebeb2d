"""What the user says of a world: typed, validated, with units; TOML in and out."""
