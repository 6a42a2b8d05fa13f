"""Reads the documents of a folder, a few at a time: from the cache, or by the children of the supervisor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from setrbm_mail.pages import Document
from setrbm_mail.reading.cache import PageCache
from setrbm_mail.reading.messages import Item, PageRead, Request
from setrbm_mail.reading.partial import PartialDocument
from setrbm_mail.reading.progress import Progress
from setrbm_mail.reading.supervisor import Replied, Supervisor


@dataclass
class FolderReader:
    """One call of ``iter_documents``.

    Attributes
    ----------
    root : str
        The folder.
    waiting : deque of PartialDocument
        Documents that were not begun yet.
    n_at_once : int
        How many documents are read at the same time: their pages take turns.
    supervisor : Supervisor
    cache : PageCache
    cache_key : str
        The settings that cached pages must share.
    on_progress : callable or None
    """

    root: str
    waiting: deque[PartialDocument]
    n_at_once: int
    supervisor: Supervisor
    cache: PageCache
    cache_key: str
    on_progress: Callable[[Progress], None] | None = None
    begun: deque[PartialDocument] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.progress = Progress(len(self.waiting))
        # The document whose turn it is comes first.
        self._turns: deque[PartialDocument] = deque()

    def documents(self) -> Iterator[Document]:
        """Yield the documents in their order."""
        while self.waiting or self.begun:
            self._begin_some()
            for replied in self.supervisor.replies(self.next_request):
                self.take(replied)
                yield from self._finished()
                self._begin_some()
            yield from self._finished()

    def _begin_some(self) -> None:
        while self.waiting and len(self.begun) < self.n_at_once:
            document = self.waiting.popleft()
            self.begun.append(document)
            self._turns.append(document)
            self._read_on(document)

    def _finished(self) -> Iterator[Document]:
        """Yield the documents that are done, up to the first that is not."""
        while self.begun and self.begun[0].is_done:
            document = self.begun.popleft()
            self._turns.remove(document)
            self.progress.n_documents_done += 1
            self._tell()
            yield document.document()

    def _tell(self) -> None:
        if self.on_progress is not None:
            self.on_progress(self.progress)

    def next_request(self) -> Request | None:
        """Return the next request for a child; the documents take turns."""
        busy = self.supervisor.busy
        for _ in range(len(self._turns)):
            document = self._turns[0]
            self._turns.rotate(-1)
            if (request := document.next_request(self.root, busy)) is not None:
                return request
        return None

    def take(self, replied: Replied) -> None:
        """Give a reply to all documents that wait for it."""
        request, item, reply, seconds = replied
        for document in self.begun:
            if request.file in document.parts:
                document.seconds += seconds
        if isinstance(reply, PageRead):
            self.cache.put(self._key(item), reply.page.to_json())
        waiting = [document for document in self.begun if item in document.to_do]
        if request.verb == "read":
            self._count_pages(sum(len(document.to_do[item]) for document in waiting))
        for document in waiting:
            document.take(item, reply)
        for document in self.begun:
            self._read_on(document)

    def _count_pages(self, n: int) -> None:
        """Count a page that was read once at each of the n places where it occurs."""
        self.progress.n_pages_done += n
        self.progress.n_pages_cached += max(0, n - 1)
        self._tell()

    def _read_on(self, document: PartialDocument) -> None:
        """Drop items that are over a limit by now; after the last part of a document was opened, ask for its pages."""
        self.progress.n_pages_done += document.drop_unneeded(self.supervisor.busy)
        if not document.is_opening or document.to_do:
            return
        self.progress.n_documents_opened += 1
        for part, number in document.begin_reading():
            self.progress.n_pages_known += 1
            item = ("read", part.digest, number)
            page = None if document.is_over(part, number) else self.cache.get(self._key(item))
            if page is not None:
                document.keep(page, part, number)
            if page is not None or document.is_over(part, number):
                self.progress.n_pages_done += 1
                self.progress.n_pages_cached += 1
            else:
                document.to_do.setdefault(item, []).append(part)

    def _key(self, item: Item) -> str:
        _, digest, number = item
        return f"{digest}-{number}-{self.cache_key}"
