"""How many bytes of files users may send: bounded for each and for all."""

from __future__ import annotations

from chat_app.interface.api.file_routes import room_for
from chat_app.interface.security.user_limits import MOST_IN_ALL, MOST_OF_USER


def test_a_users_files_take_room_from_that_user_alone() -> None:
    held = [("ana", MOST_OF_USER - 1), ("bob", 10), ("ana", 1)]
    assert (room_for("ana", held), room_for("bob", held)) == (0, MOST_OF_USER - 10)


def test_all_files_together_are_bounded() -> None:
    assert room_for("bob", [(f"user-{number}", MOST_OF_USER) for number in range(MOST_IN_ALL // MOST_OF_USER)]) == 0
