"""MCP: the operations of the catalogue as tools for models, over standard input and output and over HTTP.

    mcp_server.py   the server: tools, resources and prompts of one caller
    tool_calls.py   a call of a tool as a call of an operation
    resources.py    resources: pages of the guide, capabilities, conversations
    tool_prompts.py prompts: recall, and quote with sources

No module here knows an operation by name, except the prompts and resources, which are made of a few.
"""
