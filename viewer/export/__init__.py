"""Export: pictures, tables and report pages as files."""
