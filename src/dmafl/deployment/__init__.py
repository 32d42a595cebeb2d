"""Real devices: the server's transport over a network, what a device does with a message, and runs of both."""
