"""Ctrl-C stops the command at once, also inside a compiled program.

Python handles a signal between two instructions of its own, so that a compiled program
that takes minutes delays Ctrl-C, and an exception that is raised in a callback of it can
be lost. The operating system tells a thread of its own instead, which ends the process.
Files are written in one step, so nothing is left half written.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

STATUS = 130


@contextlib.contextmanager
def prompt_interrupt(sentence: Callable[[], str]) -> Iterator[None]:
    """End the process at Ctrl-C inside this context, with a sentence on stderr.

    Args:
        sentence: called when it happens.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda *_: None)
    known = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    def watch() -> None:
        while numbers := reader.recv(64):
            if signal.SIGINT in numbers:
                show_cursor = "\x1b[?25h\r\x1b[K" if sys.stderr.isatty() else ""
                text = f"{show_cursor}likely: {sentence()}\n"
                with contextlib.suppress(OSError):
                    os.write(2, text.encode())
                os._exit(STATUS)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(known)
        signal.signal(signal.SIGINT, before)
        writer.close()
        thread.join()
        reader.close()
