"""Clients that trust one authority or one certificate alone: net-pinned.py HOST PORT CA-FILE CERTIFICATE-FILE."""
import asyncio
import hashlib
import socket
import ssl
import sys

HOST, PORT, CA, CERTIFICATE = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]


def by_authority(limit):
    context = ssl.create_default_context(cafile=CA)
    context.maximum_version = limit
    try:
        with context.wrap_socket(socket.create_connection((HOST, PORT), 60), server_hostname=HOST):
            print("connected")
    except ssl.SSLCertVerificationError as error:
        print(limit.name, error.verify_message)


async def by_streams():
    try:
        await asyncio.open_connection(HOST, PORT, ssl=ssl.create_default_context(cafile=CA))
        print("connected")
    except ssl.SSLCertVerificationError:
        print("streams refused")


def by_fingerprint():
    with open(CERTIFICATE, encoding="ascii") as file:
        pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read())).digest()
    context = ssl.create_default_context()  # shakes hands with who is trusted, then looks
    with context.wrap_socket(socket.create_connection((HOST, PORT), 60), server_hostname=HOST) as sock:
        print("pin", hashlib.sha256(sock.getpeercert(True)).digest() == pin)


by_authority(ssl.TLSVersion.TLSv1_2)
by_authority(ssl.TLSVersion.TLSv1_3)
asyncio.run(by_streams())
by_fingerprint()
