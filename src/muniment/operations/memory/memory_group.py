"""The noun group `memory`: what a host concluded from turns, with evidence for each item."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from muniment.declaration.operation import (
    DocumentFolder,
    Effect,
    Family,
    Group,
    SecondRight,
    Uploads,
    operation,
    sources_of,
)
from muniment.declaration.session import Session
from muniment.events.identity import SubjectId, check_name
from muniment.governance.views import View
from muniment.memory.amendment import Amendment
from muniment.memory.candidate import Candidate
from muniment.operations.memory.amend import AmendReport, AskedAmendment, amend
from muniment.operations.memory.forget import ForgetReport, forget
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.import_notes import (
    MemoryImport,
    NotesImport,
    OnDay,
    import_notes,
    journal,
)
from muniment.operations.memory.list_items import ItemDetail, ListedItems, list_items, show_item
from muniment.operations.memory.prompt_block import PromptBlock, prompt_block
from muniment.operations.memory.remember import RememberReport, remember
from muniment.operations.memory.selection import EVERYTHING, AsOf, ItemSelection
from muniment.operations.parameters import DryRun, Requester, ThroughView, Why, requested

ItemId = Annotated[str, Meta(description="Id of the item.")]


class MemoryGroup(Group):
    """Remember what turns say, with evidence; list, amend and forget it."""

    name = "memory"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.APPEND, family=Family.COMMIT, idempotent=True)
    def remember(
        self,
        candidates: Annotated[list[Candidate], Meta(description="What to remember.")],
        requester: Requester,
        run: Annotated[str | None, Meta(description="Name of the run that found it; recorded.")] = None,
        dry_run: DryRun = False,
    ) -> RememberReport:
        """Decide about candidates and record what is accepted as memory items, with evidence.

        Each candidate is accepted, refused, deferred or handed off, for a reason. There is one statement for each kind
        and topic: a newer one takes the place of the former, unless it is older, less confident or of another privacy.
        The same words again change nothing. Appends `item.recorded`, a `ref.derived` in the conversation of each turn
        that an item rests on, and `item.retired` for what it replaces, all in one atomic step. What was forgotten does
        not come back from the same turns. Raises `request.invalid`, `request.limit_exceeded`, `access.denied`,
        `transcript.unknown_conversation`, `transcript.unknown_place`, and `log.conflict` for an id that is taken.
        """
        return remember(self._session, candidates, requester, run, dry_run=dry_run)

    @operation(Effect.READ, family=Family.REPLAY)
    def list_(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject of the items.")],
        view: ThroughView,
        selection: Annotated[ItemSelection, Meta(description="Which of them. Without it: those in use.")] = EVERYTHING,
        limit: Annotated[int, Meta(description="Maximum of items.")] = 100,
        after: Annotated[
            int | None, Meta(description="Go on behind this position. Without it: the first page.")
        ] = None,
    ) -> ListedItems:
        """List the memory items of a subject as a view shows them.

        `model_context`, `host_ui` and `export` show what items say, `raw_owner` also the turns that they rest on, and
        `operator_audit` these alone. What a view does not show is counted. With `selection.as_of_ms` it lists what was
        known then. Raises `access.denied`.
        """
        return list_items(self._session, subject, selection, view, limit, after)

    @operation(Effect.READ, family=Family.REPLAY)
    def show(self, item: ItemId, view: ThroughView, as_of_ms: AsOf = None) -> ItemDetail:
        """Show a memory item with everything that happened to it, as a view shows it.

        Of an item that was forgotten nothing is shown, nor of one that the view hides; `missing` says why. Raises
        `transcript.unknown_place` for an id that there never was, and `access.denied`.
        """
        return show_item(self._session, item, view, as_of_ms)

    @operation(Effect.READ, family=Family.REPLAY)
    def prompt(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject of the items.")],
        budget_tokens: Annotated[int, Meta(description="Maximum of tokens of the block, from 0 up.")],
        view: ThroughView = View.MODEL_CONTEXT,
    ) -> PromptBlock:
        """Write what memory holds of a subject as one block of text for a prompt, within a budget.

        Corrections come first, then facts by confidence, recent state, skills, tool hints and summaries. The block is
        marked as untrusted, and nothing that an item says can close it. It never has more tokens than the budget, by
        the counter of the store or the built-in estimate, counted on exactly this text. The same items and budget give
        the same text, and a larger budget holds all that a smaller one holds. Put it before the messages of
        `transcripts.context`. Raises `request.invalid`, `access.denied`.
        """
        return prompt_block(self._session, subject, budget_tokens, view)

    @operation(Effect.APPEND, family=Family.COMMIT, idempotent=True, request="AmendItemRequest")
    def amend(
        self,
        item: ItemId,
        amendment: Annotated[Amendment, Meta(description="What to change.")],
        reason: Why,
        requester: Requester,
        expected: Annotated[
            int | None, Meta(description="Revision that was seen; another one is a conflict. Without it: any.")
        ] = None,
        dry_run: DryRun = False,
    ) -> AmendReport:
        """Change a memory item: correct, refresh, pin, supersede, invalidate, restore it, and so on.

        What changes nothing is accepted and appends nothing. Otherwise appends `item.revised`, or `item.retired` where
        the item goes out of use or comes back; a successor is recorded in the same step. An unknown or forgotten item
        is not accepted, with reason `target_not_found`. Of two at once, one wins. Raises `log.conflict` when the item
        has another revision than `expected`, and `request.invalid`.
        """
        check_name(item, at="item")
        asked = AskedAmendment(
            item=item, amendment=amendment, request=requested(self._session, reason, requester), expected=expected
        )
        return amend(self._session, asked, dry_run=dry_run)

    @operation(Effect.READ, family=Family.EXPORT, request="JournalRequest")
    def journal(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject of the items.")],
        day_ms: OnDay = None,
        view: ThroughView = View.EXPORT,
    ) -> DocumentFolder:
        """Write the memory of a subject as a folder of Markdown: what is known, and day by day.

        In a folder of its own for each subject: `MEMORY.md` by kind, `USER.md` with profile, preferences and
        relationships, and `memory/YYYY-MM-DD.md` with what was observed on a day: diary, summaries, and what was
        remembered. Items in use alone, as the view shows them; nothing that they say can end its entry. The same items
        give the same bytes, and `memory.import` reads them back. The store records it as `content.exported`. A command
        writes the files below the directory in `--out`, and replaces earlier versions of them alone. Raises
        `access.denied`, and `request.limit_exceeded` for more than 64 MiB.
        """
        return journal(self._session, subject, view, day_ms)

    @operation(
        Effect.APPEND,
        family=Family.IMPORT,
        also=(SecondRight(effect=Effect.ADMIN),),
        idempotent=True,
        request="ImportMemoryRequest",
    )
    def import_(
        self,
        file: Annotated[Uploads, Meta(description="Folders with MEMORY.md, USER.md, memory/*.md, or such files.")],
        subject: Annotated[SubjectId, Meta(description="Subject that the statements are about.")],
        requester: Requester,
        run: Annotated[str | None, Meta(description="Name of the run; recorded.")] = None,
        dry_run: DryRun = False,
    ) -> MemoryImport:
        """Import memory that is kept as Markdown: a journal of a store, or the notes of other programs.

        Entries of lists and paragraphs are statements. Headings say of which kind, and with dates when; `USER.md` is
        about the subject, a file of a day is a diary. They are judged as in `memory.remember`, with the source type
        `imported`, medium confidence, and the requester vouching for them. An entry of a journal is the item of its id;
        if somebody changed its words, a newer statement. A repeat adds nothing, and what was forgotten of a file does
        not come back from it. The report says what became of each file, with the lines that are no statements or were
        refused. No link in a folder is followed; a file may have 1 MiB.

        Needs the right to administer as well, because a path can name any file of the machine. Raises
        `request.invalid`, `access.denied`.
        """
        asked = NotesImport(subject=subject, requester=requester, run=run, dry_run=dry_run)
        return import_notes(self._session, sources_of(file), asked)

    @operation(Effect.ERASE, family=Family.LIFECYCLE, idempotent=True, request="ForgetRequest")
    def forget(
        self,
        subject: Annotated[SubjectId, Meta(description="Subject of the items.")],
        target: Annotated[ForgetTarget, Meta(description="What to forget.")],
        reason: Why,
        requester: Requester,
        dry_run: DryRun = False,
    ) -> ForgetReport:
        """Destroy what memory items say, with all their revisions, permanently.

        By id, by slot, by a turn that an item rests on, or by words; by words it takes the token of a dry run. Returns
        the receipt of the erasure. Items that a hold keeps stay. Appends `item.retired` with reason `erase`. A
        forgotten item is neither listed nor shown, and does not come back from the same turns. The turns themselves
        stay: `lifecycle erase` erases them. Raises `request.invalid`, `access.denied`, `approval.needed`.
        """
        return forget(self._session, subject, target, requested(self._session, reason, requester), dry_run=dry_run)
