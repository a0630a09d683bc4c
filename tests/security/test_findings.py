"""Each finding of the security and operations review, by number, has a test; so has each claim of SECURITY.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
FINDINGS: dict[int, tuple[str, ...]] = {
    1: ("security/test_data_at_rest.py::test_another_user_reaches_neither_index_nor_sessions_nor_model",),
    2: ("security/test_data_at_rest.py::test_another_user_opens_no_file",),
    3: ("faults/test_killed_turns.py::test_a_killed_server_loses_no_shown_word_and_marks_every_broken_answer",),
    4: ("security/test_logins.py::test_the_proxys_header_wins_over_the_previous_users_cookie",),
    5: (
        "faults/test_database_faults.py::test_questions_are_answered_while_postgres_is_down_and_stored_when_it_is_back",
    ),
    6: (
        "faults/test_erasure.py::test_a_deleted_conversation_is_in_no_file",
        "faults/test_erasure.py::test_every_response_at_an_external_server_is_deleted_with_its_conversation",
    ),
    7: ("security/test_socket_owners.py::test_an_event_that_names_another_users_message_changes_and_reveals_nothing",),
    8: ("security/test_login_throttle.py::test_a_burst_of_guesses_is_refused_and_others_can_log_in",),
    9: (
        "security/test_logins.py::test_a_log_out_ends_this_login_on_every_route",
        "security/test_logins.py::test_behind_https_cookies_are_for_https_alone",
        "security/test_logins.py::test_a_cookie_counts_from_a_trusted_address_alone",
    ),
    10: ("security/test_half_open.py::test_others_are_served_beside_half_open_requests_which_are_closed",),
    11: (
        "integration/test_replicas.py::test_a_stream_goes_on_at_the_other_replica_without_gap_or_repetition",
        "integration/test_first_start.py::test_replicas_that_start_together_create_everything_once_and_answer",
    ),
    12: ("integration/test_http_api_health.py::test_a_schema_that_does_not_fit_is_named_by_the_probe_and_by_doctor",),
    13: ("security/test_logins.py::test_a_request_that_names_its_user_twice_is_refused",),
    14: ("security/test_logins.py::test_the_demo_user_is_refused_behind_a_proxy",),
    15: (
        "integration/test_replicas.py::test_files_at_another_replica_take_room_from_their_user_alone",
        "security/test_socket_owners.py::test_a_message_that_is_too_long_does_not_fill_the_history",
        "integration/test_guideline_library.py::test_at_most_two_pages_are_drawn_at_once",
    ),
    16: (
        "integration/test_replicas.py::test_a_follow_up_soon_after_another_host_died_is_answered",
        "faults/test_embedded_faults.py::test_a_service_that_hangs_is_started_again",
        "faults/test_turn_faults.py::test_an_answer_without_a_source_that_could_not_be_searched_says_so",
    ),
    17: (
        "security/test_logins.py::test_a_cookie_of_a_replica_whose_clock_is_ahead_is_accepted",
        "faults/test_database_faults.py::test_a_redis_that_loses_everything_in_a_turn_is_told",
        "faults/test_killed_turns.py::test_a_killed_server_loses_no_shown_word_and_marks_every_broken_answer",
    ),
    18: ("e2e/test_page_fidelity.py::test_three_hundred_hostile_and_clinical_texts_are_shown_as_they_were_sent",),
    19: (
        "integration/test_page_security.py::test_too_large_bodies_are_refused_and_errors_do_not_repeat_what_was_sent",
        "integration/test_page_security.py::test_an_upload_is_refused_for_a_wrong_type_and_for_another_users_socket",
        "unit/test_page_uploads.py::test_files_of_another_process_are_left_until_they_are_old",
    ),
    20: (
        "faults/test_database_faults.py::test_the_doctor_starts_and_creates_nothing",
        "faults/test_database_faults.py::test_a_data_directory_that_cannot_be_written_is_a_sentence",
        "faults/test_database_faults.py::test_a_disk_that_cannot_be_written_is_a_sentence",
        "security/test_route_matrix.py::test_no_route_gives_or_changes_what_is_another_users",
    ),
    21: ("faults/test_http_shutdown.py::test_each_live_stream_gets_its_outcome_and_the_server_ends_in_time",),
    22: ("unit/test_redis_versions.py::test_a_redis_without_the_fixes_is_named",),
}


@pytest.mark.parametrize("number", range(1, 23))
def test_each_finding_has_a_test(number: int) -> None:
    for named in FINDINGS[number]:
        path, _, function = named.partition("::")
        assert re.search(rf"^(?:async )?def {function}\(", (PROJECT / "tests" / path).read_text("utf-8"), re.MULTILINE)


def test_each_test_that_the_threat_model_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (PROJECT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 15
    assert all((PROJECT / name).is_file() for name in named)
