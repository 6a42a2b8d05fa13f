"""What a child process is kept from: secrets of its parent, and the network."""

import socket
import subprocess
import sys

import pytest

from hostile_files import encoded, picture
from running import put_stub_in_front
from setrbm_mail import read_documents
from setrbm_mail.reading.isolation import environment

# Appended to the stub: the child tries what a file that took it over would try, and says what it found.
TRYING = """
import socket

def tried(self, *arguments):
    with open(os.path.join(os.path.dirname(__file__), "port")) as file:
        port = int(file.read())
    found = [name for name in os.environ if "planted" in os.environ[name]]
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5.0).close()
        found.append("Network")
    except OSError:
        pass
    raise type("Found" + "".join(found), (Exception,), {})

Stub.Recognize = tried
"""


def can_leave_network():
    code = "from setrbm_mail.reading.isolation import leave_network; print(leave_network())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


def what_a_child_finds(tmp_path, monkeypatch):
    """Return the name of what a child raises."""
    put_stub_in_front(monkeypatch, tmp_path / "stub", "none")
    with (tmp_path / "stub" / "sitecustomize.py").open("a") as file:
        file.write(TRYING)
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "a.png").write_bytes(encoded(picture(300, 400), "PNG"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        (tmp_path / "stub" / "port").write_text(str(server.getsockname()[1]))
        (document,) = read_documents(tmp_path / "mail", n_jobs=1)
    (problem,) = document.problems
    return problem.reason.removeprefix("it cannot be read (").removesuffix(")")


def test_a_child_sees_no_secret_of_its_parent(tmp_path, monkeypatch):
    for name in ("DATABASE_PASSWORD", "HOME", "HTTPS_PROXY", "PYTHONSTARTUP", "LD_PRELOAD_NOTHING"):
        monkeypatch.setenv(name, "planted")
    monkeypatch.setenv("LC_PAPER", "planted")
    # What is allowed is seen, so that the child has really looked.
    assert what_a_child_finds(tmp_path, monkeypatch).removesuffix("Network") == "FoundLC_PAPER"


@pytest.mark.skipif(not can_leave_network(), reason="this system gives processes no network of their own")
def test_a_child_reaches_no_network(tmp_path, monkeypatch):
    assert what_a_child_finds(tmp_path, monkeypatch) == "Found"


def test_the_environment_of_a_child_is_a_short_list():
    given = {"PATH": "a", "LC_ALL": "b", "TMPDIR": "c", "AWS_SECRET_ACCESS_KEY": "d", "OMP_NUM_THREADS": "8"}
    found = environment(given)
    always = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_THREAD_LIMIT", "PYTHONUSERBASE"}
    assert found.keys() == {"PATH", "LC_ALL", "TMPDIR", *always}
    assert found["OMP_NUM_THREADS"] == "1"
