"""Python's HTTP clients as programs use them, without any option for certificates or proxies.

net-python.py HTTPS HTTP2 WEBSOCKET: the ports of py.test; 0: there is none. Prints the same with and without callgate
in between.
"""
import asyncio
import io
import json
import sys
import urllib.error
import urllib.request

import aiohttp
import httpx
import requests
import websockets

HOST = "py.test"
H1, H2, WS = map(int, sys.argv[1:])
URL = f"https://{HOST}:{H1}"


def chunks():
    for _ in range(10):
        yield b"0123456789" * 1000


async def achunks():
    for chunk in chunks():
        yield chunk


def by_urllib():
    print("urllib", urllib.request.urlopen(URL + "/ok", timeout=60).read())
    print("urllib post", len(urllib.request.urlopen(URL + "/echo", data=b"x" * 70000, timeout=60).read()))
    try:
        urllib.request.urlopen(URL + "/secret", timeout=60)
    except urllib.error.HTTPError as error:
        print("urllib", error.code, json.loads(error.read())["reason"])
    try:
        urllib.request.urlopen("https://elsewhere.test/", timeout=60)
    except urllib.error.URLError as error:
        print("urllib elsewhere", type(error.reason).__name__)


def by_requests():
    with requests.Session() as session:
        for _ in range(3):
            print("requests", session.get(URL + "/ok", timeout=60).text.strip())
        print("requests redirect", session.get(URL + "/redirect?to=/ok", timeout=60).text.strip())
        print("requests chunked", len(session.post(URL + "/echo", data=chunks(), timeout=60).content))
        files = {"file": ("name", io.BytesIO(b"z" * 50000))}
        answer = session.post(URL + "/echo", files=files, timeout=60).content
        print("requests upload", answer.count(b'filename="name"'), answer.count(b"z"))
        print("requests big", len(session.get(URL + "/size/3000000", timeout=60).content))
        print("requests", session.delete(URL + "/echo", timeout=60).json()["reason"])


def by_httpx():
    with httpx.Client(timeout=60) as client:
        print("httpx", client.get(URL + "/ok").text.strip(), client.get(URL + "/ok").http_version)
        print("httpx chunked", len(client.post(URL + "/echo", content=chunks()).content))
        print("httpx", client.get(URL + "/secret").json()["reason"])
    if H2 == 0:
        return
    with httpx.Client(http2=True, timeout=60) as client:
        answer = client.get(f"https://{HOST}:{H2}/file")
        print("httpx", answer.http_version, answer.text.strip())
        print("httpx/2 upload", len(client.post(f"https://{HOST}:{H2}/up", content=b"y" * 200000).content))
        answer = client.get(f"https://{HOST}:{H2}/secret")
        print("httpx/2", answer.http_version, answer.json()["reason"])


async def by_httpx_parallel():
    if H2 == 0:
        return
    async with httpx.AsyncClient(http2=True, timeout=60) as client:
        answers = await asyncio.gather(*(client.get(f"https://{HOST}:{H2}/file?n={i}") for i in range(20)))
        print("httpx/2 parallel", {answer.text.strip() for answer in answers}, len(answers))


async def by_aiohttp():
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
        async def get(i):
            async with session.get(f"{URL}/size/{i * 1000}") as answer:
                return len(await answer.read())
        print("aiohttp parallel", await asyncio.gather(*(get(i) for i in range(20))))
        async with session.post(URL + "/echo", data=achunks()) as answer:
            print("aiohttp chunked", len(await answer.read()))
        async with session.get(URL + "/secret") as answer:
            print("aiohttp", answer.status, (await answer.json(content_type=None))["reason"])
        if WS:
            async with session.ws_connect(f"https://{HOST}:{WS}/chat") as socket:
                await socket.send_str("there and back")
                print("aiohttp websocket", await socket.receive_str(timeout=60))


async def by_streams():
    reader, writer = await asyncio.open_connection(HOST, H1, ssl=True)
    writer.write(f"GET /size/5 HTTP/1.1\r\nHost: {HOST}:{H1}\r\nConnection: close\r\n\r\n".encode())
    print("streams", (await reader.read()).endswith(b"\r\n\r\nxxxxx"), writer.get_extra_info("peername")[1] == H1)
    writer.close()


async def by_websockets():
    if WS == 0:
        return
    url = f"wss://{HOST}:{WS}"
    async with websockets.connect(url + "/chat", max_size=None, open_timeout=60) as socket:
        for message in "hello", b"\0" * 70000, "x" * 1000000:
            await socket.send(message)
            print("websocket", await socket.recv() == message)
        await (await socket.ping())
        print("websocket pong")
    print("websocket closed", socket.close_code)
    try:
        await websockets.connect(url + "/other", open_timeout=60)
    except websockets.exceptions.InvalidHandshake as error:
        # InvalidStatusCode before websockets 14, InvalidStatus since
        print("websocket elsewhere", error.response.status_code if hasattr(error, "response") else error.status_code)


by_urllib()
by_requests()
by_httpx()
for function in by_httpx_parallel, by_aiohttp, by_streams, by_websockets:
    asyncio.run(asyncio.wait_for(function(), 90))
