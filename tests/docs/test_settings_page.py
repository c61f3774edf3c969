"""docs/settings.md says what the tables of settings say: it is made of them."""

from tests.support.docs import settings_page


def test_settings_page_is_what_the_tables_of_settings_give():
    assert settings_page.PAGE.read_text() == settings_page.page(), (
        "write it anew: python -m tests.support.docs.settings_page"
    )
