"""The supervisor of child processes, with children that are scripts."""

from setrbm_mail import Limits, Reading
from setrbm_mail.reading import supervisor
from setrbm_mail.reading.isolation import environment
from setrbm_mail.reading.messages import Request
from setrbm_mail.reading.supervisor import Supervisor

# The first child replies once, works on the next item, and dies; the second replies at once.
DIES_ONCE = """
import os, sys, time

sys.stdin.readline()
print("{}", flush=True)
sys.stdin.readline()
is_first = not os.path.exists("begun")
open("begun", "w").close()
print('{"reason": "read"}', flush=True)
if is_first:
    time.sleep(0.5)
    os._exit(1)
sys.stdin.readline()
"""


def test_the_time_of_a_child_that_died_is_that_of_the_item_it_died_with(tmp_path, monkeypatch):
    (tmp_path / "child.py").write_text(DIES_ONCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(supervisor, "COMMAND", (str(tmp_path / "child.py"),))
    requests = [Request("read", "/", "a.pdf", (1, 2), (), "digest")]
    with Supervisor(1, Limits(), Reading(ocr="never")) as children:
        first, second = children.replies(lambda: requests.pop() if requests else None)
    assert [reply.item[2] for reply in (first, second)] == [1, 2]
    assert first.seconds < 0.5 <= second.seconds


def test_packages_of_the_user_are_found_without_the_home_folder(monkeypatch):
    monkeypatch.setattr("site.getuserbase", lambda: "/srv/app/.local")
    given = environment({"HOME": "/srv/app", "PATH": "/bin"})
    assert given["PYTHONUSERBASE"] == "/srv/app/.local"
    assert "HOME" not in given
