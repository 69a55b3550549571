"""Memory as Markdown: written as a journal, read from folders of notes."""
