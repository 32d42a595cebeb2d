"""A scenario made concrete: every device drawn, every gain addressable, every duration and energy computable."""
