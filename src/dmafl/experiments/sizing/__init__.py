"""Sizing: the cheapest plan, fleet, battery or band that meets goals, what it asks of every device, and proof of it."""
