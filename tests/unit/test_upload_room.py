"""How many bytes of files users may keep for their next questions: bounded for each and for all."""

from __future__ import annotations

from chat_app.interface.security.user_limits import MOST_IN_ALL, MOST_OF_USER, UploadRoom


async def test_a_users_files_take_room_from_that_user_alone() -> None:
    room = UploadRoom(lambda: None, lambda: {"ana": MOST_OF_USER - 10, "bob": 1})
    async with room.admitted("ana", 11) as of_ana, room.admitted("bob", 11) as of_bob:
        assert (of_ana, of_bob) == (False, True)
    async with room.admitted("ana", 10) as first, room.admitted("ana", 1) as second:
        assert (first, second) == (True, False), "a file counts while it is being stored"


async def test_all_files_together_are_bounded() -> None:
    held = {f"user-{number}": MOST_OF_USER for number in range(MOST_IN_ALL // MOST_OF_USER)}
    async with UploadRoom(lambda: None, lambda: held).admitted("bob", 1) as fits:
        assert not fits
