"""How long tests wait for other processes before they give up; far more than is needed, for the machine may be busy."""

PATIENCE_S = 600.0
