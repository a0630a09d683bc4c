"""``asclepius mcp``: the MCP server on standard input and output, for programs of this user."""

from chat_app.cli import shell


async def mcp() -> None:
    """Serve guidelines, drugs and calculators to the MCP client that started this command."""
    from mcp.server.stdio import stdio_server

    from chat_app.audit import open_audit_log
    from chat_app.mcp.mcp_server import PublishedContent

    async with shell.opened_content() as content, open_audit_log(content.settings) as audit:
        if content.settings.offline.load_demo:
            await content.guidelines.load_demo()
            await content.drugs.load_demo()
        published = PublishedContent(content.drugs, content.guidelines, audit)
        server = published.server_for(shell.shell_user(content.settings))
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())
