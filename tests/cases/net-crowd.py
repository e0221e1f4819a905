"""net-crowd.py HOST PORT N: N connections at once, all open before the first request is made; a request on each."""
import asyncio
import resource
import sys

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


async def one(number, everybody, ready):
    reader, writer = await asyncio.open_connection(host, port)
    ready.append(number)
    if len(ready) == count:
        everybody.set()
    await everybody.wait()
    body = b"x" * (number % 50)
    method, path = ("POST", "/echo/%d" % number) if number % 2 else ("GET", "/ok/%d?secret" % number)
    length = "Content-Length: %d\r\n" % len(body) if number % 2 else ""
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{length}\r\n".encode())
    if number % 2:
        writer.write(body)
    head = await reader.readuntil(b"\r\n\r\n")
    expected = body if number % 2 else b"ok\n"
    assert head.startswith(b"HTTP/1.1 200 "), head
    assert await reader.readexactly(len(expected)) == expected
    writer.close()
    await writer.wait_closed()


async def main():
    everybody, ready = asyncio.Event(), []
    await asyncio.gather(*(one(number, everybody, ready) for number in range(count)))
    print("done", len(ready))


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
asyncio.run(main())
