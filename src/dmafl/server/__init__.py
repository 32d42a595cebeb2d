"""The server: aggregates what arrives and asks a policy what comes next; knows neither clock nor transport."""
