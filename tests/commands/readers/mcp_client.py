"""Drives a server of the Model Context Protocol by the official client, and prints what it hears.

mcp_client.py MODE CALLS SERVER...: MODE is auto or legacy; CALLS a list of [tool, arguments] in JSON; SERVER a URL, or
a command with its arguments. A line of JSON is printed for the server, for each of its tools, and for each answer.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main(mode, calls, server):
    if server[0].startswith("http"):
        where = server[0]
    else:
        where = StdioServerParameters(command=server[0], args=server[1:])
    async with Client(where, mode=mode, read_timeout_seconds=60) as client:
        print(json.dumps({"version": client.protocol_version, "instructions": client.instructions}))
        tools = (await client.list_tools()).tools
        print(json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]))
        for name, arguments in calls:
            try:
                result = await client.call_tool(name, arguments)
            except Exception as error:  # the client's own, of which a script prints the text
                print(json.dumps({"refused": str(error)}))
                continue
            text = "".join(block.text for block in result.content)
            print(json.dumps({"error": bool(result.is_error), "text": text}))


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]))
