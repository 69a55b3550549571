"""Independent suites against the server, as their makers ship them: schemathesis, MCP conformance, MCP Inspector."""
