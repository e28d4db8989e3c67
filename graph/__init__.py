"""The diagrams: which stage follows which. Read this first."""
