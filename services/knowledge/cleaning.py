"""Make the sections of a file safe to store, index and show."""

from dataclasses import replace

from services.knowledge.models import Section
from services.text.cleaning import carries_hidden_text, clean


def clean_section(section: Section) -> Section:
    """Return the section with each of its texts cleaned; headings become one line."""
    titles = (" ".join(clean(title).split()) for title in section.heading)
    return replace(
        section,
        text=clean(section.text),
        heading=tuple(title for title in titles if title),
        header=clean(section.header),
    )


def has_hidden_characters(section: Section) -> bool:
    """Return whether a text of the section spells something in invisible characters."""
    return any(map(carries_hidden_text, (section.text, section.header, *section.heading)))
