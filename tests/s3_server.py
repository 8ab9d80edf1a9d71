"""An S3 server on this machine, and the environment in which clients find it."""

from __future__ import annotations

from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer
from s3fs import S3FileSystem

__all__ = ["s3_environment", "s3_server"]


def s3_environment(url):
    """Return the environment variables with which clients use a server."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


@contextmanager
def s3_server():
    """Start a server, and yield a client of it and its environment variables."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    S3FileSystem.clear_instance_cache()  # connections to an earlier server
    try:
        host, port = server.get_host_and_port()
        client = boto3.client(
            "s3",
            endpoint_url=f"http://{host}:{port}",
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )
        yield client, s3_environment(f"http://{host}:{port}")
        client.close()
    finally:
        server.stop()
        S3FileSystem.clear_instance_cache()
