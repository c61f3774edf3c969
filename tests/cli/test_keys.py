"""Keys of a terminal: what happens when it goes away."""

import os
import pty
import sys

import pytest

from kminilog.cli.shared.keys import keys_of_terminal
from kminilog.errors import KMiniLogError


def test_keys_of_a_terminal_that_goes_away_end_with_a_sentence(monkeypatch):
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        with keys_of_terminal() as read_key:
            os.close(master)
            with pytest.raises(KMiniLogError, match="the terminal is gone"):
                read_key()
