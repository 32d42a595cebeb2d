"""What is installed on this machine, and under which licences."""
