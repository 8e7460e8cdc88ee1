"""The trace store: runs the person agreed to keep, and the audit of everything the agent did.

Write through `store.TraceStore` and `audit.Recorders`, read through `reads.Traces`. All SQL of the program is in here.
"""
