"""A group of commands that tells whoever misspells one what is probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from muniment.transports.cli.failure import Misfit


class CommandGroup(click.Group):
    """A group of commands; an unknown one is refused without being quoted."""

    def elsewhere(self) -> dict[str, Sequence[str]]:
        """Return commands of other groups: the name of each, and how they are called from the top."""
        return {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was typed."""
        typed = args[0]
        if not ctx.resilient_parsing and not typed.startswith("-") and self.get_command(ctx, typed) is None:
            here = self.list_commands(ctx)
            raise Misfit("command", "unknown_word", choices=here, meant=self._meant(typed, here), ctx=ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, typed: str, here: Sequence[str]) -> list[str]:
        elsewhere = self.elsewhere()
        if typed in elsewhere:
            return [*elsewhere[typed]]
        return closest(typed, here) or [name for verb in closest(typed, elsewhere) for name in elsewhere[verb]]


def closest(typed: str, words: Iterable[str]) -> list[str]:
    """Return the words of ours that somebody who typed another one probably meant."""
    import difflib  # noqa: PLC0415 - only a word that is unknown needs it

    return difflib.get_close_matches(typed.lower().replace("_", "-"), list(words))
