"""Notifications of the booking service."""
