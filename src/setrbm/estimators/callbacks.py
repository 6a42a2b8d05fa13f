"""scikit-learn's callbacks; before scikit-learn 1.9, which brought them, a stand-in with what our fits use of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Self

from sklearn.base import _clone_parametrized

HOOKS = ("setup", "on_fit_task_begin", "on_fit_task_end", "teardown")


class Task:
    """What callbacks are told about: a fit, one of its phases, or an epoch; scikit-learn's ``CallbackContext``."""

    def __init__(
        self, callbacks: list[Any], task_name: str, task_id: int, max_subtasks: int, parent: Task | None
    ) -> None:
        self.callbacks, self.parent, self.n_subtasks = callbacks, parent, 0
        self.task_name, self.task_id, self.max_subtasks = task_name, task_id, max_subtasks

    def subcontext(self, task_name: str = "", max_subtasks: int = 0) -> Task:
        """Return the next subtask."""
        self.n_subtasks += 1
        return Task(self.callbacks, task_name, self.n_subtasks - 1, max_subtasks, self)

    def call_on_fit_task_begin(self, *, estimator: Any) -> None:
        """Tell the callbacks that the task begins."""
        self._call("on_fit_task_begin", estimator, None)

    def call_on_fit_task_end(self, *, estimator: Any, metadata: dict[str, Any] | None = None) -> bool:
        """Tell the callbacks that the task has ended; return whether one wants the level above to end."""
        return self._call("on_fit_task_end", estimator, metadata)

    def _call(self, hook: str, estimator: Any, metadata: dict[str, Any] | None) -> bool:
        available = {"X": None, "y": None, "metadata": metadata, "fitted_estimator": None}
        answers = []
        for callback in self.callbacks:
            method = getattr(callback, hook)
            asked = [p.name for p in signature(method).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
            answers.append(method(estimator, self, **{name: available[name] for name in asked}))
        return any(answers)


class CallbackSupport:
    """Stand-in for ``sklearn.callback.CallbackSupportMixin``."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the objects that follow the fits of this estimator.

        Parameters
        ----------
        *callbacks : objects with the methods of ``sklearn.callback.FitCallback``
            Without any, the callbacks are removed.

        Returns
        -------
        self
        """
        for callback in callbacks:
            if isinstance(callback, type) or not all(callable(getattr(callback, hook, None)) for hook in HOOKS):
                raise TypeError(f"callbacks must be objects with the methods {', '.join(HOOKS)}. Got {callback!r}.")
        self.__dict__.pop("_skl_callbacks", None)
        if callbacks:
            self._skl_callbacks = list(callbacks)
        return self

    def __sklearn_clone__(self) -> Self:
        """Return a clone with the same callbacks."""
        clone: Self = _clone_parametrized(self)
        return clone.set_callbacks(*getattr(self, "_skl_callbacks", []))

    def _init_callback_context(self, max_subtasks: int = 0) -> Task:
        self._callback_fit_ctx = Task(self._skl_callbacks, "fit", 0, max_subtasks, None)
        for callback in self._skl_callbacks:
            callback.setup(estimator=self, context=self._callback_fit_ctx)
        return self._callback_fit_ctx


def tearing_down(method: Callable[..., Any]) -> Callable[..., Any]:
    """Stand-in for ``sklearn.callback.with_callbacks``: tear down the callbacks whether the fit fails or not."""

    @wraps(method)
    def managed(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _teardown_of(self):
            return method(self, *args, **kwargs)

    return managed


@contextmanager
def _teardown_of(estimator: Any) -> Iterator[None]:
    try:
        yield
    finally:
        context = estimator.__dict__.pop("_callback_fit_ctx", None)
        for callback in context.callbacks if context else ():
            callback.teardown(estimator=estimator, context=context)


try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ModuleNotFoundError:
    CallbackSupportMixin, with_callbacks = CallbackSupport, tearing_down
