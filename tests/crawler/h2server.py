"""A real h2 server on loopback that misbehaves on purpose, and speaks HTTP/1.1 with clients that want that."""

import asyncio
from contextlib import asynccontextmanager

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, RequestReceived
from h2.exceptions import H2Error

from tests.crawler.server import Server


class H2Server(Server):
    """Paths to answers: (headers, body), or an async function of (h2 connection, stream, writer)."""

    def __init__(self, answers, plain=None):
        super().__init__(plain)
        self.streams = answers
        self.asked = []
        """Headers of the requests that came over h2."""
        self.connections_of_h2 = 0
        self.resets = []

    async def _serve(self, reader, writer):
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            return await super()._serve(reader, writer)
        self.connections_of_h2 += 1
        self._serving.add(asyncio.current_task())
        connection = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        try:
            while data := await reader.read(65_536):
                for event in connection.receive_data(data):
                    if isinstance(event, RequestReceived):
                        self.asked.append(event.headers)
                        await self._answer(connection, event, writer)
                    elif isinstance(event, ConnectionTerminated):
                        return None
                if writer.is_closing():
                    return None
                writer.write(connection.data_to_send())
                await writer.drain()
        except (ConnectionError, H2Error, asyncio.CancelledError):
            pass
        finally:
            self._serving.discard(asyncio.current_task())
            writer.close()

    async def _answer(self, connection, event, writer):
        answer = self.streams[dict(event.headers)[":path"]]
        if callable(answer):
            await answer(connection, event.stream_id, writer)
            return
        headers, body = answer
        connection.send_headers(event.stream_id, headers)
        for at in range(0, len(body), 16_384):
            connection.send_data(event.stream_id, body[at : at + 16_384])
        connection.end_stream(event.stream_id)

    @asynccontextmanager
    async def over(self, context):
        async with self.serve(tls=context):
            yield self
