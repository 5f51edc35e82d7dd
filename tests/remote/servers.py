# SPDX-License-Identifier: Apache-2.0
"""A Redis server and an nginx on loopback, of the suite's own, and a proxy in front of either that does as it is told.

Programs and libraries are those of the system or what `./dev test` has unpacked into build/servers; nothing is
installed, and nothing is left running: servers die with the process that has started them.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading


def unpacked(root):
    """The folder of what was unpacked, if there is one."""
    place = pathlib.Path(os.environ.get("TILEC_TEST_SERVERS", pathlib.Path(root) / "build" / "servers" / "root"))
    return place if place.is_dir() else None


class Programs:
    def __init__(self, root):
        place = unpacked(root)
        folders = [str(place / "usr" / name) for name in ("bin", "sbin")] if place else []
        search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", *folders])
        self.redis, self.nginx = shutil.which("redis-server", path=search), shutil.which("nginx", path=search)
        self.libraries = [str(folder) for folder in place.glob("usr/lib/*-linux-gnu")] if place else []

    def env(self):
        """Where libraries that were unpacked are found: behind the system's own."""
        known = [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
        return {"LD_LIBRARY_PATH": os.pathsep.join(known + self.libraries)} if known + self.libraries else {}

    def has_library(self, *names):
        script = (
            "import ctypes, sys\n"
            "for name in sys.argv[1:]:\n"
            "    try: ctypes.CDLL(name); break\n"
            "    except OSError: pass\n"
            "else: sys.exit(1)"
        )
        return (
            subprocess.run(["python3", "-c", script, *names], env={**os.environ, **self.env()}, check=False).returncode
            == 0
        )


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A child that listens on a free port. `start(port)` gives its words."""

    def __init__(self, programs, folder, start):
        for _ in range(5):  # another process may take the port in between
            self.port = free_port()
            with open(folder / "log", "w", encoding="utf-8") as log:
                self.child = subprocess.Popen(
                    start(self.port),
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **programs.env()},
                    preexec_fn=die_with_parent,
                )
            if self.listens():
                return
            self.stop()
        raise RuntimeError((folder / "log").read_text(encoding="utf-8"))

    def listens(self):
        for _ in range(2000):
            try:
                socket.create_connection(("127.0.0.1", self.port), 10).close()
                return self.child.poll() is None
            except OSError:
                try:
                    self.child.wait(0.01)
                    return False
                except subprocess.TimeoutExpired:
                    pass
        return False

    def stop(self):
        self.child.kill()
        self.child.wait()


def start_redis(programs, folder):
    folder.mkdir()
    return Server(
        programs,
        folder,
        lambda port: [
            programs.redis,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(folder),
            "--daemonize",
            "no",
        ],
    )


NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr; {user}
events {{ worker_connections 64; }}
http {{
    access_log {folder}/access combined; client_max_body_size 64m;
    client_body_temp_path {folder}/temporary; proxy_temp_path {folder}/t1; fastcgi_temp_path {folder}/t2;
    uwsgi_temp_path {folder}/t3; scgi_temp_path {folder}/t4;
    server {{
        listen 127.0.0.1:{port}{tls}; root {folder}/data;
        location /store/ {{ dav_methods PUT; create_full_put_path on; }}
        location /private/ {{
            dav_methods PUT; create_full_put_path on; if ($http_authorization != "Bearer secret") {{ return 401; }}
        }}
        location /fixed/ {{ }}
        location /moved/ {{ return 302 http://127.0.0.1:1/elsewhere; }}
        location /broken/ {{ return 500; }}
    }}
}}
"""


def start_nginx(programs, folder, certificate=None):
    """`certificate`: a file with a key behind it, with which it speaks TLS."""
    (folder / "data").mkdir(parents=True)

    def words(port):
        user = "user root;" if os.geteuid() == 0 else ""
        tls = f" ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate}" if certificate else ""
        (folder / "conf").write_text(NGINX.format(folder=folder, port=port, user=user, tls=tls), encoding="utf-8")
        return [programs.nginx, "-p", str(folder), "-c", str(folder / "conf")]

    return Server(programs, folder, words)


class Redis:
    """A client for what the tests look at and spoil."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.file = self.socket.makefile("rb")

    def __call__(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        return int(rest) if kind == b":" else rest


class Proxy:
    """Takes connections for a server, counts them and what is asked, and passes small questions and answers on.

    fault: None; bytes, the answer to whatever is asked, after which it hangs up; or a function (proxy, client, server)
    that is called when something was asked, and with which the connection ends unless it says True.
    """

    def __init__(self, port, fault=None):
        self.upstream, self.fault, self.requests = port, fault, 0
        self.taken, self.own = [], threading.Condition()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, (_, port) = self.listener.accept()
            except OSError:
                return
            with self.own:
                self.taken.append(port)
                self.own.notify_all()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    @property
    def connections(self):
        """How many there were before this call: they are taken in their order, so one of its own comes behind them."""
        with socket.create_connection(("127.0.0.1", self.port), 60) as probe, self.own:
            port = probe.getsockname()[1]
            self.own.wait_for(lambda: port in self.taken, 60)
            count = self.taken.index(port)
            del self.taken[count]
        return count

    def serve(self, client):
        with client:
            try:
                with socket.create_connection(("127.0.0.1", self.upstream), 60) as server:
                    self.talk(client, server)
            except OSError:
                pass

    def talk(self, client, server):
        while data := client.recv(1 << 16):
            self.requests += 1
            if isinstance(self.fault, bytes):
                client.sendall(self.fault)
                return
            server.sendall(data)
            if self.fault and not self.fault(self, client, server):
                return
            if not self.fault:
                self.pass_back(client, server)

    @staticmethod
    def pass_back(client, server):
        client.sendall(server.recv(1 << 20))

    def close(self):
        self.listener.close()


def silence(proxy, client, server):
    """Never answers; ends when the other side goes."""
    while client.recv(1 << 16):
        pass


def drip(proxy, client, server):
    """Promises much, and sends a little of it over and over, longer than anybody is to wait."""
    client.sendall(proxy.head)
    client.settimeout(0.01)
    for _ in range(500):
        client.sendall(b"x")
        try:
            if not client.recv(1):
                return
        except TimeoutError:
            pass


def cut(proxy, client, server):
    """Half of an answer, then the connection's end."""
    client.sendall(server.recv(1 << 20)[:300])


def hang_up(proxy, client, server):
    """A whole answer, then the connection's end."""
    proxy.pass_back(client, server)
