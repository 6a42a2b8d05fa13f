"""The process that opens files and reads pages: whatever a file does to it, the parent continues.

It is started as ``python -P -m setrbm_mail.reading.child``. Requests come on standard input and replies go to standard
output; see ``messages``.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import IO

from setrbm_mail.reading.isolation import NO_MEMORY, end_with_parent, leave_network, limit_memory


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Reply to requests until there are no more. The first line holds limits and settings."""
    # Loads everything, so that the limit of memory is for the files alone.
    from setrbm_mail.reading.messages import Request, line_of, settings_of
    from setrbm_mail.reading.tasks import load_libraries, replies_to

    limits, reading = settings_of(requests.readline())
    load_libraries(reading)
    limit_memory(limits.memory)
    replies.write(b"{}\n")
    replies.flush()
    for line in requests:
        for reply in replies_to(Request.of(line), limits, reading):
            replies.write(line_of(reply))
            replies.flush()


def main() -> None:
    """Serve the parent process."""
    leave_network()
    threading.Thread(target=end_with_parent, daemon=True).start()
    # What libraries print must not come between the replies.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(sys.stdin.buffer, replies)
    except MemoryError:
        os._exit(NO_MEMORY)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(1)


if __name__ == "__main__":
    main()
