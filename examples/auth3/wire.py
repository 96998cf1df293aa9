"""HTTP as far as RelaMon's wire needs it, one thing after the other as they come in: with a thread for each connection, a
value could overtake its label. Nothing but Python's standard library.
"""

import asyncio


async def serve(port, answer):
    """Listens on `port`; `answer(method, path, body)` gives the status."""

    async def talk(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                fields = dict(line.lower().split(":", 1) for line in head[1:] if ":" in line)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                method, path, _ = head[0].split(" ", 2)
                status = await answer(method, path, body)
                writer.write(f"HTTP/1.1 {status} -\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(talk, "127.0.0.1", port)


async def call(place, method, path, body=b""):
    """Asks or posts over a connection of its own; gives the status."""
    host, port = place.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        return int((await reader.readuntil(b"\r\n")).split(b" ")[1])
    finally:
        writer.close()
