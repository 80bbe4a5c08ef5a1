# SPDX-License-Identifier: Apache-2.0
"""A small client of one Kubernetes-style HTTPS server: kubeconfig, keep-alive connections per thread, JSON. Standard library only.

    api = Api.from_kubeconfig("admin.conf")
    api.post("/api/v1/namespaces", {...})      # raises ApiError unless 2xx
"""
import base64
import http.client
import json
import os
import re
import ssl
import tempfile
import threading
import urllib.parse


class ApiError(Exception):
    def __init__(self, method, path, status, text):
        super().__init__(f"{method} {path}: {status} {text[:300]}")
        self.status = status


def read_kubeconfig(path, work):
    """(server, ca file, certificate file, key file, token) of a kubeconfig with one cluster and one user. Files go into `work`."""
    text = open(path).read()

    def find(name):
        found = set(re.findall(r'^[\s-]*"?%s"?:\s*"?([^"\s,]+)"?' % re.escape(name), text, re.M))
        if len(found) > 1:
            raise SystemExit(f"{path}: several {name}: make one of it with: kubectl config view --minify --raw --flatten")
        return found.pop() if found else None

    def material(name, file):
        data = find(name + "-data")
        if data:
            target = os.path.join(work, file)
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(base64.b64decode(data))
            return target
        found = find(name)
        return os.path.join(os.path.dirname(os.path.abspath(path)), found) if found else None

    server = find("server")
    if not server:
        raise SystemExit(f"{path}: no server in it")
    return (server, material("certificate-authority", "ca.crt"), material("client-certificate", "client.crt"),
            material("client-key", "client.key"), find("token"))


class Api:
    def __init__(self, server, ca=None, certificate=None, key=None, token=None):
        url = urllib.parse.urlparse(server)
        self.server, self.host, self.port = server, url.hostname, url.port or 443
        self.token, self.context = token, None
        if url.scheme == "https":
            self.context = ssl.create_default_context(cafile=ca)
            if certificate:
                self.context.load_cert_chain(certificate, key)
        self.local = threading.local()

    @classmethod
    def from_kubeconfig(cls, path, work=None):
        return cls(*read_kubeconfig(path, work or tempfile.mkdtemp()))

    def connect(self, timeout=60):
        if self.context:
            return http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=timeout)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self, content_type=None):
        out = {"Accept": "application/json"}
        if self.token:
            out["Authorization"] = "Bearer " + self.token
        if content_type:
            out["Content-Type"] = content_type
        return out

    def request(self, method, path, body=None, content_type="application/json"):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        for attempt in (1, 2):  # a kept connection may have been closed by the server
            connection = getattr(self.local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self.local.connection = self.connect()
            try:
                connection.request(method, path, data, self.headers(content_type if data else None))
                answer = connection.getresponse()
                text = answer.read()
                break
            except (http.client.HTTPException, OSError):
                self.local.connection = None
                connection.close()
                if fresh or attempt == 2:
                    raise
        if not 200 <= answer.status < 300:
            raise ApiError(method, path, answer.status, text.decode(errors="replace"))
        return text

    def get(self, path):
        return json.loads(self.request("GET", path))

    def post(self, path, body):
        return json.loads(self.request("POST", path, body))

    def put(self, path, body):
        return json.loads(self.request("PUT", path, body))

    def merge(self, path, body):
        return json.loads(self.request("PATCH", path, body, "application/merge-patch+json"))

    def delete(self, path):
        return self.request("DELETE", path)
