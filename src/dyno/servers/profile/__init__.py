"""Profiling a server in use: where its CPU time goes, what its sessions are at, which statements
take the time; with no workload of ours.

`target` finds the server, by URL or process, and `processes` what of it runs on this host.
`collect` samples both for a while; `statements` reads the times of statements, which each kind of
server tells otherwise (`postgres`, `mysql`), and asks for their plans. Nothing is written there.
"""
