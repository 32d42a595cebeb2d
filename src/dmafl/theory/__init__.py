"""Model quality as a function of a schedule: two bounds and a calibrated prediction, every term apart."""
