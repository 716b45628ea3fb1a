"""The preferences: one dialog, a page each for look, units, kernel classes and the store."""
