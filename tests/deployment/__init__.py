"""Tests of deployment."""
