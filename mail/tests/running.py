"""What the tests of reading documents share: a stub in front of OCR, processes, and what a folder holds."""

import os
import subprocess
import sys
import time
from pathlib import Path

# Put in front of the libraries of the reading processes. Wide pictures make OCR misbehave; others are read as always.
STUB = """
import os, time
import tesserocr

class Stub(tesserocr.PyTessBaseAPI):
    n_read = 0

    def SetImage(self, image):
        self.is_wide = image.width > image.height
        super().SetImage(image)

    def Recognize(self, *arguments):
        Stub.n_read += 1
        with open(os.path.join(os.path.dirname(__file__), "mode")) as file:
            mode = file.read()
        if mode == "broken" or (mode == "second" and Stub.n_read == 2):
            os.abort()
        if mode == "slow":
            time.sleep(0.2)
        if self.is_wide:
            misbehave(mode)
        return super().Recognize(*arguments)

def misbehave(mode):
    if mode == "hang":
        # Tells a test that it hangs now.
        open(os.path.join(os.path.dirname(__file__), f"{os.getpid()}.hangs"), "w").close()
        time.sleep(600)
    if mode == "spin":
        while True:
            pass
    if mode == "crash":
        os.abort()
    if mode == "exit":
        os._exit(0)
    if mode == "error":
        raise RuntimeError("tesseract in /usr/local/share is not well")
    if mode == "memory":
        pieces = []
        while True:
            pieces.append(bytearray(10_000_000))

tesserocr.PyTessBaseAPI = Stub
"""


def put_stub_in_front(monkeypatch, folder: Path, mode: str) -> None:
    """Make OCR misbehave in processes that are started from now on."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(STUB)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (folder / "mode").write_text(mode)


def children(parent: int | None = None) -> list[int]:
    """Return the processes of a parent, ended ones that nobody waited for included."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if (_status(pid) or ["", "-1"])[1] == str(parent or os.getpid())]


def readers(parent: int | None = None) -> list[int]:
    """Return the reading processes of a parent."""
    return [pid for pid in children(parent) if b"setrbm_mail.reading.child" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _status(pid: int) -> list[str] | None:
    """Return state and parent of a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def wait_until(holds, seconds: float = 20.0) -> None:
    """Wait until something holds; fail if it takes too long."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, even if its new parent has not waited for it yet."""
    return (fields := _status(pid)) is None or fields[0] == "Z"


def snapshot(folder: Path) -> bytes:
    """Return name, kind, size and time of everything in a folder."""
    form = "%p %y %s %T@ %C@ %l\\n"
    found = subprocess.run(["find", folder, "-printf", form], capture_output=True, check=True)
    return b"\n".join(sorted(found.stdout.splitlines()))


def start(code: str, *arguments: object) -> subprocess.Popen:
    """Start Python on a program."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
