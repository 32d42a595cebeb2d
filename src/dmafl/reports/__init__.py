"""What people look at: tables and pictures of worlds, plans and runs."""
