"""What two servers say of a file of settings, held against each other."""

from __future__ import annotations

from dyno.engines import ConfigOption
from dyno.runs.resolve.config_files import UNREAD, judge_options


def test_an_option_has_the_gravest_word_and_both_servers_own() -> None:
    old = [
        ConfigOption("port", "1", held="connections"),
        ConfigOption("gone", "2", warned="use other"),
        ConfigOption("both", "3", refused="no"),
        ConfigOption("soft", None, warned="old words"),
        ConfigOption("alike", None, warned="deprecated"),
        ConfigOption("of_old", "4"),
        ConfigOption("master_password", "geheim"),
    ]
    new = [
        ConfigOption("port", "1", held="connections"),
        ConfigOption("gone", "2", refused="unknown variable 'gone=2'"),
        ConfigOption("both", "3", refused="never"),
        ConfigOption("soft", None, warned="new words"),
        ConfigOption("alike", None, warned="deprecated"),
        ConfigOption("master_password", "geheim", refused="unknown 'master_password=geheim'"),
        ConfigOption("of_new", "5"),
    ]
    judged = {it.name: it for it in judge_options(old, new)}
    assert {name: it.word for name, it in judged.items()} == {
        "port": "taken",
        "gone": "fails",
        "both": "refused by both",
        "soft": "warned of",
        "alike": "taken",
        "of_old": "warned of",
        "master_password": "fails",
        "of_new": "taken",
    }
    assert (judged["gone"].old, judged["gone"].new) == ("use other", "unknown variable 'gone=2'")
    assert judged["of_old"].new == judged["of_new"].old == UNREAD
    assert judged["port"].held == "connections"
    assert "geheim" not in str(judged)
    (other,) = judge_options([ConfigOption("x", "1", refused="no")], [ConfigOption("x", "1")])
    assert other.word == "refused by OLD"
