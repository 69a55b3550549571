// Generated from schemas/openapi.json by `python -m tests.schemas --write`: do not edit.

export interface CommitRequest {
  /** The delivered turn. */
  turn: Turn;
}

/**
 * The input of a commit.
 *
 * A turn names its conversation by `conversation`, or by `chat` alone, which then serves as conversation id.
 * With both, `chat` becomes an alias of the conversation for this turn's mounted subject.
 */
export interface Turn {
  turn: string;
  subject: string;
  messages: Message[];
  conversation?: string | null;
  /** @default "default" */
  channel?: string;
  space?: string | null;
  chat?: string | null;
  /** @default "delivered" */
  delivery?: Delivery;
  source?: Source;
  actor?: Attribution | null;
  tools?: ToolObservation[];
  host_refs?: HostReference[];
  /** @default false */
  external?: boolean;
  candidates?: string[];
}

/**
 * One message of a turn, as a host hands it over.
 *
 * `content` is text or a list of parts. `authority` and the speaker default by role. `observed_ms` (UTC milliseconds)
 * is what the host claims, 0 means the time of the commit; retention never counts from it.
 */
export interface Message {
  role: Role;
  content: string | Part[];
  authority?: Authority | null;
  speaker_id?: string | null;
  speaker_kind?: string | null;
  /** @default 0 */
  observed_ms?: number;
}

/** Who speaks in the protocol between host and model. */
export type Role = "assistant" | "system" | "tool" | "user";

/** Text. */
export interface TextPart {
  type: "text";
  content: string;
}

/** What a model wrote for itself before it answered. */
export interface ReasoningPart {
  type: "reasoning";
  content: string;
}

/** A call that the model requested. `arguments` is any JSON value. */
export interface ToolCallPart {
  type: "tool_call";
  name: string;
  id?: string | null;
  arguments?: unknown;
}

/** What a call returned. `response` is any JSON value; `id` is that of the call. */
export interface ToolCallResponsePart {
  type: "tool_call_response";
  response?: unknown;
  id?: string | null;
}

/** Bytes given inline; in JSON they are base64. */
export interface BlobPart {
  type: "blob";
  content: string;
  mime_type?: string | null;
  modality?: string | null;
}

/** A file that a provider keeps under an id. */
export interface FilePart {
  type: "file";
  file_id: string;
  mime_type?: string | null;
  modality?: string | null;
}

/** A resource at an address. The store never fetches it. */
export interface UriPart {
  type: "uri";
  uri: string;
  mime_type?: string | null;
  modality?: string | null;
}

/**
 * A file that the store keeps beside the turn, up to 1 GiB: an image, a recording, a document.
 *
 * `attachments.add` takes the bytes and returns the part, with an `upload`; `transcripts.commit` takes the part and
 * keeps it without. `size` is in bytes; `root` commits to the bytes (`evidence.verifier.attachment_root`).
 */
export interface AttachmentPart {
  type: "attachment";
  size: number;
  root: string;
  mime_type?: string | null;
  modality?: string | null;
  name?: string | null;
  upload?: string | null;
}

/** How far a statement can be relied on, and for whom it is intended. */
export type Authority =
  | "archive_evidence"
  | "assistant_self_claim"
  | "assistant_utterance"
  | "external_content"
  | "legacy_transcript"
  | "operator_diagnostic"
  | "private_garden_internal"
  | "program_memory_canonical"
  | "runtime_observation"
  | "soul_governance"
  | "subject_projection"
  | "user_asserted"
  | "world_observation";

/** How the exchange ended. */
export type Delivery =
  | "cancelled"
  | "delivered"
  | "incomplete_stream"
  | "rejected_by_policy"
  | "upstream_failed"
  | "user_only";

/** Where a turn came from. The conversation hint is the client's own name of its conversation. */
export interface Source {
  /** @default "user" */
  ingress?: Ingress;
  channel?: string | null;
  provider?: string | null;
  /** @default "native" */
  protocol?: Protocol;
  endpoint?: string | null;
  model_alias?: string | null;
  model?: string | null;
  request_id?: string | null;
  conversation_hint?: string | null;
}

/** What started a turn: a person, or the host itself. */
export type Ingress = "system" | "user";

/** The protocol that a turn came through. */
export type Protocol = "native" | "ollama_chat" | "ollama_generate" | "openai_chat" | "openai_responses";

/**
 * The participants of a turn: seven values that are never merged.
 *
 * Each may be absent; `attributed` fills the absent ones. `subject` defaults to that of the turn.
 */
export interface Attribution {
  speaker_id?: string | null;
  speaker_kind?: string | null;
  subject?: string | null;
  acting_subject?: string | null;
  mounted_subject?: string | null;
  agent_id?: string | null;
  trigger?: string | null;
}

/** A note of the host about the use of a tool: a summary, never a raw result. */
export interface ToolObservation {
  id: string;
  tool: string;
  /** @default "" */
  summary?: string;
  /** @default false */
  external?: boolean;
}

/** An opaque pointer into the host's own data; the store never parses it. */
export interface HostReference {
  host: string;
  type: string;
  id: string;
  /** @default "related" */
  relation?: Relation;
  /** @default "internal" */
  visibility?: Visibility;
  label?: string | null;
}

/** How a business object relates to the turn. */
export type Relation = "evidence_for" | "origin" | "related" | "trigger";

/** The audience of a host reference or attribute. */
export type Visibility = "export" | "host_ui" | "internal" | "model_context" | "operator_audit";

/**
 * What became of a commit. A turn that was not committed has a reason and is not an error.
 *
 * `detection` is there where the store looks for something before commits: what it replaced by markers.
 */
export interface CommitReceipt {
  conversation: ConversationKey;
  turn: string;
  committed: boolean;
  messages_before: number;
  messages_after: number;
  sequence?: number | null;
  position?: number | null;
  leaf?: string | null;
  reason?: string | null;
  detection?: Replacements | null;
}

/**
 * The name of a conversation: space, channel and conversation id.
 *
 * Without `space`, the open space is meant; naming another one is refused.
 */
export interface ConversationKey {
  /** Id of the conversation. */
  conversation: string;
  /**
   * Channel of the conversation.
   * @default "default"
   */
  channel?: string;
  /** Name of the open space; may be left out. */
  space?: string | null;
}

/**
 * What was replaced before a commit: how much of each type, how many texts as a whole because detection failed.
 *
 * `coverage` is what was looked for, never more than that.
 */
export interface Replacements {
  detected: Record<string, number>;
  failed: number;
  coverage: Coverage[];
}

/**
 * The detectable types; where spans overlap, the first type wins.
 *
 * muniment finds no `person`, `location` and `other` itself: detectors of hosts do.
 */
export type DetectedType =
  | "api_key"
  | "bank_code"
  | "birth_date"
  | "email"
  | "iban"
  | "ip_address"
  | "jwt"
  | "known_name"
  | "location"
  | "national_id"
  | "other"
  | "payment_card"
  | "person"
  | "phone_number"
  | "private_key"
  | "secret";

/** A detected type and its detectors. */
export interface Coverage {
  type: DetectedType;
  detectors: string[];
}

export interface CommitManyRequest {
  /** The delivered turns, in their order. */
  turns: Turn[];
}

/** What became of a batch: how many turns were committed now, and the receipt of each, in the given order. */
export interface BatchReceipt {
  committed: number;
  receipts: CommitReceipt[];
}

export interface ReplayRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /**
   * Turns per page; 0 counts as 1.
   * @default 50
   */
  limit?: number;
  /** Next cursor of the page before. Without it: the first page. */
  cursor?: string | null;
}

/** For whom a slice is made. */
export type View = "export" | "host_ui" | "model_context" | "operator_audit" | "raw_owner";

/**
 * A page of turns as a view shows them. `next_cursor` is absent on the last page.
 *
 * What the budget of a profile left out is in `budget_applied`; the counts of the audit are whole.
 */
export interface Slice {
  turns: SliceTurn[];
  items: RedactionItem[];
  audit: SliceAudit;
  has_more: boolean;
  next_cursor?: string | null;
  budget_applied?: BudgetApplied[];
}

/**
 * A turn as a view shows it.
 *
 * In the views that do not show origin, `source` and `external` are None and `tools` is empty.
 */
export interface SliceTurn {
  turn: string;
  sequence: number;
  position: number;
  phase: Phase;
  delivery: Delivery;
  committed_ms: number;
  actor: Attribution;
  messages: SliceMessage[];
  host_refs?: HostReference[];
  attributes?: SliceAttribute[];
  source?: Source | null;
  tools?: ToolObservation[];
  external?: boolean | null;
}

/** Where a turn is in its life. `masked_archived` is masked for every view; it remembers what unmask returns to. */
export type Phase = "active" | "archived" | "erased" | "masked" | "masked_archived";

/** A message as a view shows it. `parts` is empty when the whole content is withheld, and `redacted` says so. */
export interface SliceMessage {
  id: string;
  role: Role;
  authority: Authority;
  speaker_id: string;
  speaker_kind: string;
  observed_ms: number;
  /** @default false */
  redacted?: boolean;
  parts?: Part[];
}

/**
 * An attribute as a view shows it. `redacted`: the value is a replacement for the one that was recorded.
 *
 * `source`, `reason`, `visibility` and `governance` are there in the views that show origin; a reason only beside its
 * value.
 */
export interface SliceAttribute {
  id: string;
  key: string;
  kind: ValueKind;
  value: unknown;
  created_ms: number;
  updated_ms: number;
  /** @default "turn" */
  scope?: AttributeScope;
  message?: string | null;
  schema?: string | null;
  links?: AttributeLink[];
  /** @default false */
  redacted?: boolean;
  source?: AttributeOrigin | null;
  reason?: string | null;
  visibility?: Visibility | null;
  governance?: AttributeGovernance | null;
}

/** The JSON type of a value; null is not allowed. */
export type ValueKind = "array" | "boolean" | "number" | "object" | "string";

/** What an attribute is about: a turn, or one message of it. */
export type AttributeScope = "message" | "turn";

/** A relation to another object, which is named by kind and id; the store never follows it. */
export interface AttributeLink {
  relation: string;
  kind: string;
  id: string;
}

/** Who wrote an attribute and when, without the reason. `request` is the host's id of the request that wrote it. */
export interface AttributeOrigin {
  writer: string;
  kind: SourceKind;
  written_ms: number;
  request?: string | null;
}

/** Where a value comes from. */
export type SourceKind =
  | "gateway_counted"
  | "host_estimated"
  | "host_reported"
  | "memory_computed"
  | "provider_reported"
  | "unavailable";

/** The maximum size of the value as canonical JSON, its policy, and whether exports may contain it. */
export interface AttributeGovernance {
  /** @default 65536 */
  value_bytes_max?: number;
  /** @default "follow_transcript" */
  policy?: AttributePolicy;
  /** @default false */
  export_allowed?: boolean;
}

/** What happens to an attribute when its turn is masked or erased. */
export type AttributePolicy = "follow_transcript" | "metadata_survives_mask" | "operator_audit_only_after_mask";

/**
 * One thing withheld: where, why, and from which view. Places count from 0 within the turn.
 *
 * An attribute is named by its id and its key alone: an item with a message is about the words of that message.
 * `start` and `end` are there when of the text of a part only a range is withheld: code points of the text as it was
 * committed, the end not included; a marker is in the text that is shown, and no proof discloses the part to this
 * view. `causes` say more about the reason: why somebody redacted it, what was detected, which detectors failed.
 * `tool` is the place of an observation whose summary is withheld, or a range of it; so is `host_ref` for a label.
 * `path` says in which string of what a call was given or gave back, or of the value of an attribute, the range is: a
 * JSON pointer; `reason` is the reason of an attribute.
 */
export interface RedactionItem {
  turn: string;
  reason: Reason;
  view: View;
  message?: string | null;
  part?: number | null;
  host_ref?: number | null;
  authority?: Authority | null;
  attribute?: string | null;
  attribute_key?: string | null;
  tool?: number | null;
  start?: number | null;
  end?: number | null;
  causes?: string[];
  path?: string | null;
}

/** Why something is withheld. */
export type Reason =
  | "attr_lifecycle_policy"
  | "attr_value_budget"
  | "attr_visibility"
  | "detected"
  | "detection_failed"
  | "erased"
  | "host_ref_label"
  | "host_ref_visibility"
  | "lifecycle_masked"
  | "operator_only"
  | "private_authority"
  | "profile_budget"
  | "redacted"
  | "view_policy";

/**
 * What was read and withheld, in numbers.
 *
 * `coverage` is there when the view looks for something: what was looked for, never more than that.
 */
export interface SliceAudit {
  view: View;
  turns_read: number;
  turns_returned: number;
  messages_redacted: number;
  host_refs_redacted: number;
  reasons: Reason[];
  coverage?: Coverage[];
}

/**
 * A ceiling that cut a response to `limit` of `found`.
 *
 * For references and attributes, `found` is that of the turn from which most were omitted.
 */
export interface BudgetApplied {
  ceiling: Ceiling;
  limit: number;
  found: number;
  profile: Profile;
  percent: number;
  limited_by?: BudgetCause[];
}

/** A limit of a budget; each is a field of `Budget`. */
export type Ceiling =
  | "attributes_per_turn"
  | "derived_refs"
  | "host_refs_per_turn"
  | "inspection_findings"
  | "page_turns"
  | "redaction_items"
  | "rendered_chars";

/** A kind of deployment. */
export type Profile = "desktop" | "developer" | "embedded" | "server";

/** Why a budget is smaller than the figures of its profile. */
export type BudgetCause =
  | "memory_at_floor"
  | "memory_near_floor"
  | "memory_unknown"
  | "pressure_cautious"
  | "pressure_critical"
  | "provider"
  | "storage_unknown";

export interface TimelinePageRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** Where the page is: the latest turns, or a turn or time to show turns around. */
  anchor?: Anchor;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /**
   * Turns per page; above 0.
   * @default 50
   */
  limit?: number;
  /**
   * Active turns only, or archived ones too.
   * @default "active"
   */
  lifecycle?: LifecycleFilter;
  /** Cursor of either direction of the page before. Without it: the first page. */
  cursor?: string | null;
}

/** Where a page is: around a place by any of its names, or a half-open range of UTC milliseconds. */
export interface Anchor {
  /**
   * The latest turns, or turns before, after or around a turn, or from a time on.
   * @default "latest"
   */
  at?: AnchorKind;
  /** Id of a turn. */
  turn?: string | null;
  /** Id of a message: <turn>#<number>, counted from 0. */
  message?: string | null;
  /** Sequence of a turn in its conversation, counted from 1. */
  sequence?: number | null;
  /** Position in the log, counted from 0. */
  position?: number | null;
  /** Not before this time, in UTC milliseconds. */
  from_ms?: number | null;
  /** Before this time, in UTC milliseconds. */
  until_ms?: number | null;
}

/** Where a page of a timeline is. */
export type AnchorKind = "after" | "around" | "before" | "first_in_range" | "latest";

/** Which turns count: the active ones alone, or the archived ones too. */
export type LifecycleFilter = "active" | "active_and_archived";

/**
 * A page of a timeline: listed turns as a view shows them, in the order of their sequence.
 *
 * `anchor` is the place that was named. `revision` counts the events of the conversation, `digest` is
 * the leaf of the newest one, in hexadecimal.
 */
export interface Timeline {
  conversation: ConversationKey;
  turns: SliceTurn[];
  items: RedactionItem[];
  audit: SliceAudit;
  has_older: boolean;
  has_newer: boolean;
  revision: number;
  digest: string;
  older_cursor?: string | null;
  newer_cursor?: string | null;
  anchor?: Place | null;
  budget_applied?: BudgetApplied[];
}

/**
 * A turn, or a message of it, and the head of its conversation when it was read.
 *
 * `revision` counts the events of the conversation, `digest` is the leaf of the newest one, in hexadecimal.
 */
export interface Place {
  conversation: ConversationKey;
  subject: string;
  turn: string;
  sequence: number;
  position: number;
  observed_ms: number;
  revision: number;
  digest: string;
  message?: string | null;
}

export interface LatestRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /**
   * How many turns; above 0.
   * @default 10
   */
  n?: number;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /**
   * Active turns only, or archived ones too.
   * @default "active"
   */
  lifecycle?: LifecycleFilter;
}

export interface SearchRequest {
  /** Words, "phrases", -without, from:, in:, role:, before:, after:, on:. */
  query: string;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /** Where to search. Default: the whole space. */
  within?: SearchScope;
  /** How to rank. Default: by relevance. */
  ranking?: SearchRanking;
  /**
   * Messages per page; above 0.
   * @default 10
   */
  limit?: number;
  /** Next cursor of the page before. Without it: the first page. */
  cursor?: string | null;
}

/**
 * Where to search: a channel, a conversation (of that channel, or the default one), messages of a role or speaker.
 *
 * Times are UTC milliseconds, `until_ms` not included.
 */
export interface SearchScope {
  /** Search this channel only. */
  channel?: string | null;
  /** Search this conversation only: one of the channel, or of the default channel. */
  conversation?: string | null;
  /** Who said it: user or assistant. */
  role?: Role | null;
  /** Name of the speaker. */
  speaker?: string | null;
  /** Not before this time, in UTC milliseconds. */
  from_ms?: number | null;
  /** Before this time, in UTC milliseconds. */
  until_ms?: number | null;
  /**
   * Search active turns only, or archived ones too.
   * @default "active"
   */
  lifecycle?: LifecycleFilter;
}

/**
 * How to rank: in which order, as asked when (UTC milliseconds), explained or not.
 *
 * Weights come as a preset or one by one; without either, those count that suit an index with or without vectors. By
 * time, words alone count.
 */
export interface SearchRanking {
  /**
   * Order of the hits. By time, only keywords decide what is found.
   * @default "relevance"
   */
  sort?: Sort;
  /** Named weights. Without preset and weights: the ones that fit the index. */
  preset?: Preset | null;
  /** Weight of each signal, instead of a preset. */
  weights?: Weights | null;
  /** When the question is asked, in UTC milliseconds; `last week` counts from there. Default: now. */
  asked_ms?: number | null;
  /**
   * Explain each score and how the query was understood.
   * @default false
   */
  explain?: boolean;
}

/** The order of hits: the best first, or the latest. */
export type Sort = "relevance" | "time";

/** Weights with a name (`ranking.weights.PRESETS`). */
export type Preset = "meaning" | "seed" | "words";

/**
 * What each signal adds to the score of a message; 0 leaves it out.
 *
 * `keyword` and `semantic` are scaled by the best of all candidates, so that 1 is the best there is. `neighbours` is
 * the share of their own score that the messages before and after lend, `beyond` that of the ones next to these, and
 * `session` counts for the session with the best ones; `speaker` counts when the question names who said it, `role`
 * for what users said, or assistants when the question asks for that, `date` when it names a time; `recency` favours
 * what was said last.
 */
export interface Weights {
  /** @default 1.0 */
  keyword?: number;
  /** @default 0.7 */
  semantic?: number;
  /** @default 0.35 */
  neighbours?: number;
  /** @default 0.0 */
  beyond?: number;
  /** @default 0.4 */
  session?: number;
  /** @default 0.7 */
  speaker?: number;
  /** @default 0.5 */
  role?: number;
  /** @default 0.8 */
  date?: number;
  /** @default 0.0 */
  recency?: number;
}

/**
 * A page of hits. `total` counts the messages that match, `semantic` tells whether meaning counted.
 *
 * The total is that of all pages, and of what is beyond them; hits with `is_context` are not in it. `total_is_least`:
 * there may be more, since the most frequent words of the query were only looked up in what other words had found.
 *
 * `semantic_reason` says why meaning did not count although an embedder is chosen. `capped` lists the limits that the
 * query reached; `understood` is there with `explain`.
 */
export interface SearchPage {
  hits: Hit[];
  total: number;
  semantic: SemanticCoverage;
  semantic_reason?: string | null;
  /** @default false */
  total_is_least?: boolean;
  /** @default false */
  has_more?: boolean;
  next_cursor?: string | null;
  capped?: Cap[];
  understood?: QueryReading | null;
  budget_applied?: BudgetApplied[];
}

/**
 * A message that was found. With `explain`, `signals` are the parts of its score.
 *
 * `is_context`: it does not match itself but is next to a message that does, as the answer to a question often is.
 */
export interface Hit {
  place: Place;
  role: Role;
  speaker: string;
  excerpt: Excerpt;
  score: number;
  /** @default false */
  is_context?: boolean;
  signals?: Record<string, number> | null;
}

/** A piece of what a view shows of a message. Highlights are code points of `text`, the end not included. */
export interface Excerpt {
  text: string;
  highlights?: [number, number][];
  /** @default false */
  cut_before?: boolean;
  /** @default false */
  cut_after?: boolean;
}

/** Whether messages could be found by meaning: none, those that have vectors yet, or all. */
export type SemanticCoverage = "absent" | "full" | "partial";

/** A limit that a query reached: `limit` of `found`, or of more, were used. */
export interface Cap {
  what: CappedItem;
  limit: number;
  found: number;
}

/** What a query has too many of: words, places of its words in the index, hits. */
export type CappedItem = "hits" | "places" | "words";

/**
 * How a query was understood.
 *
 * `terms` are searched for, as they are indexed; the words in `left_out` are not: they are in every sentence, or name
 * a time (`dates`, half-open in UTC milliseconds). Words that name somebody (`speakers`, whose messages count for
 * more) are searched for as well. `role` is whose messages are asked for. `taken_as_words` look like filters with
 * unreadable values.
 */
export interface QueryReading {
  terms?: string[];
  left_out?: string[];
  speakers?: string[];
  role?: Role | null;
  dates?: [number, number][];
  phrases?: string[];
  excluded?: string[];
  filters?: string[];
  taken_as_words?: string[];
}

export interface ContextRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** Maximum of tokens for all messages together. */
  budget_tokens: number;
  /** The next question: earlier messages that answer it are quoted. Without it: none are. */
  query?: string | null;
  /**
   * Format of the messages.
   * @default "openai"
   */
  shape?: Shape;
  /**
   * View that decides what is shown.
   * @default "model_context"
   */
  view?: View;
  /** How the context is made. */
  composition?: Composition;
}

/** The interface that the messages are for. */
export type Shape = "anthropic" | "openai" | "otel";

/**
 * How a context is made.
 *
 * `reference_percent` is the share of the budget for earlier messages, `reach` where they are looked for.
 * `overhead_tokens` is counted for each message beside its words. Files, images and sounds stand as short words,
 * unless `file_tokens` says how many tokens each counts. With `begins` a conversation that is not there yet has no
 * turns. With `record` it is put on record what was given.
 */
export interface Composition {
  /**
   * What happens to system messages.
   * @default "keep"
   */
  system?: SystemText;
  /**
   * What replaces content that is masked, erased or redacted.
   * @default "marker"
   */
  gaps?: Gaps;
  /**
   * Use active turns only, or archived ones too.
   * @default "active"
   */
  lifecycle?: LifecycleFilter;
  /**
   * Where to look for earlier messages.
   * @default "conversation"
   */
  reach?: QuoteScope;
  /**
   * Share of the budget for earlier messages, in percent.
   * @default 25
   */
  reference_percent?: number;
  /**
   * Tokens that each message takes beside its text.
   * @default 4
   */
  overhead_tokens?: number;
  /** Keep files, images and sounds and count each as this many tokens. Without it: a short note. */
  file_tokens?: number | null;
  /**
   * The conversation may be new: then it has no turns. Without it, it must exist.
   * @default false
   */
  begins?: boolean;
  /**
   * Record what was given as `context.issued`; needs the right to append.
   * @default false
   */
  record?: boolean;
}

/** Whether system text comes along. */
export type SystemText = "keep" | "leave_out";

/** What replaces content that is masked, erased or redacted as a whole: a short marker, or nothing. */
export type Gaps = "leave_out" | "marker";

/** Where earlier messages are searched. */
export type QuoteScope = "channel" | "conversation" | "space";

/**
 * Messages for a prompt, and what was put in, cut and withheld.
 *
 * `system` are the text blocks for the field of that name, where the shape has one. The turns are those from
 * `first_sequence` to `last_sequence`; `turns_before` are older and not there, because of `cut_by`. `withheld` counts
 * messages, parts and ranges of the turns in between by reason, `left_out` what the shape has no place for: calls
 * and results without their counterpart, files, reasoning. `hits` is how many earlier messages were considered;
 * `semantic` tells whether their meaning counted. `tokens` is counted by `counter` and never above `budget_tokens`,
 * `chars` are the characters of everything that was counted. `revision` counts the events of the conversation,
 * `digest` is the leaf of the newest one. `recorded` is the position of the record, where one is kept.
 */
export interface Context {
  conversation: ConversationKey;
  shape: Shape;
  view: View;
  messages: Record<string, unknown>[];
  sections: Section[];
  tokens: number;
  budget_tokens: number;
  chars: number;
  counter: string;
  turns: number;
  turns_before: number;
  system?: Record<string, unknown>[];
  first_sequence?: number | null;
  last_sequence?: number | null;
  cut_by?: StopReason | null;
  withheld?: Record<string, number>;
  left_out?: Record<string, number>;
  quoted?: Quoted[];
  /** @default 0 */
  hits?: number;
  semantic?: SemanticCoverage | null;
  /** @default 0 */
  revision?: number;
  digest?: string | null;
  recorded?: number | null;
  budget_applied?: BudgetApplied[];
}

/** A part of a context: how large it is, or why it is not there. `messages` are counted before any are joined. */
export interface Section {
  part: ContextPart;
  included: boolean;
  messages: number;
  tokens: number;
  chars: number;
  miss?: MissingReason | null;
}

/** What a context is made of, in this order. */
export type ContextPart = "reference" | "system" | "turns";

/** Why a part of a context is not there. */
export type MissingReason =
  | "all_included"
  | "no_room"
  | "not_asked"
  | "not_found"
  | "nothing_there"
  | "query_refused";

/** What ended the run of turns: the budget of tokens, the characters of the profile, or the most that is read. */
export type StopReason = "chars" | "tokens" | "turns";

/** An earlier message in the reference block; `cut` when it is only an excerpt. */
export interface Quoted {
  place: Place;
  role: Role;
  /** @default false */
  cut?: boolean;
}

export interface RedactRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** What to redact. */
  passage: Passage;
  /** A view that no longer shows it; may be repeated. */
  views: View[];
  /** Kind of reason; recorded. */
  reason: RedactionReason;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** Why, in your own words; recorded. */
  note?: string | null;
}

/**
 * A turn, or one thing in it: a message, a part, a range of the text of a part, or a field.
 *
 * `message` and `part` count from 0. `start` and `end` are code points of the text of a part as it was committed, the
 * end not included; only text and reasoning have such a range, a tool call and what it returned are named whole.
 * `field` is the summary of a tool observation or the label of a host reference: `tools/0/summary`,
 * `host_ref/1/label`.
 */
export interface Passage {
  /** Id of the turn. */
  turn: string;
  /** A message of the turn, counted from 0. Without it: the whole turn. */
  message?: number | null;
  /** A part of the message, counted from 0. */
  part?: number | null;
  /** First character of a range of the part's text, counted from 0. */
  start?: number | null;
  /** End of the range: the first character that is not redacted. */
  end?: number | null;
  /** A summary or label: tools/0/summary, host_ref/1/label. */
  field?: string | null;
}

/** Why a redaction was made; the header of `turn.redacted` names it in `reason`. */
export type RedactionReason = "legal" | "other" | "personal_data" | "policy" | "safety" | "secret";

/**
 * What a redaction did. `views` are all those that it withholds from.
 *
 * `messages` are withheld as a whole, `parts` as a whole or some of their text, `fields` are summaries and labels; all
 * of them count what the passage names, whether a view showed it before or not.
 */
export interface RedactionReport {
  conversation: ConversationKey;
  passage: Passage;
  views: View[];
  reason: RedactionReason;
  changed: boolean;
  messages: number;
  parts: number;
  fields: number;
  requester: string;
  requested_ms: number;
  position?: number | null;
}

export interface AnnotateRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** The attributes to record. */
  attributes: Attribute[];
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
  /** Your name for this write; recorded, and suppresses nothing. */
  idempotency_key?: string | null;
}

/**
 * A statement of a host about a turn or message. `value` is any JSON value but null.
 *
 * `key` is dotted (`host.billing.tokens`), `schema` an optional name of the value's schema. A creation time of 0 means
 * "now"; an update time of 0 means "now", or the creation time where that is later.
 */
export interface Attribute {
  id: string;
  target: AttributeTarget;
  key: string;
  kind: ValueKind;
  value: unknown;
  source: AttributeSource;
  /** @default "internal" */
  visibility?: Visibility;
  governance?: AttributeGovernance;
  links?: AttributeLink[];
  schema?: string | null;
  /** @default 0 */
  created_ms?: number;
  /** @default 0 */
  updated_ms?: number;
}

/** A turn of the conversation by its id, and for scope `message` a message of it by its id. */
export interface AttributeTarget {
  turn: string;
  /** @default "turn" */
  scope?: AttributeScope;
  message?: string | null;
}

/** Who wrote an attribute, where its value comes from, and why. `written_ms` 0 means "now". */
export interface AttributeSource {
  writer: string;
  kind: SourceKind;
  /** @default "recorded" */
  reason?: string;
  /** @default 0 */
  written_ms?: number;
}

/**
 * What became of a request, attribute by attribute in its order.
 *
 * `withheld` says what each view does not show of the values that were accepted. `audit_position` is the place in the
 * log where the request was decided: that of its first event, or in a dry run the one that it would have.
 */
export interface AnnotationReport {
  conversation: ConversationKey;
  dry_run: boolean;
  accepted: number;
  refused: number;
  audit_position: number;
  attributes: Annotation[];
  withheld: RedactionItem[];
  idempotency_key?: string | null;
}

/**
 * What became of one attribute of a request: recorded at a position, or refused for a reason without a trace.
 *
 * `replaces` is the position of the attribute of the same id that it replaces from now on.
 */
export interface Annotation {
  id: string;
  accepted: boolean;
  reason?: AttributeRefusal | null;
  replaces?: number | null;
  position?: number | null;
}

/** Why an attribute was not recorded. */
export type AttributeRefusal =
  | "description_malformed"
  | "erased"
  | "id_malformed"
  | "id_repeated"
  | "key_malformed"
  | "kind_differs"
  | "link_malformed"
  | "message_missing"
  | "message_not_taken"
  | "reason_malformed"
  | "schema_malformed"
  | "size_out_of_range"
  | "target_differs"
  | "time_out_of_range"
  | "too_many_links"
  | "too_many_of_turn"
  | "unknown_message"
  | "unknown_turn"
  | "updated_before_created"
  | "value_not_canonical"
  | "value_too_large"
  | "writer_malformed";

/** A file that was added. `part` goes into a message of a turn; until that is committed nobody can read the file. */
export interface AddedAttachment {
  part: AttachmentPart;
}

export interface ReadRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** The attachment. */
  attachment: AttachmentPlace;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /**
   * First byte, counted from 0.
   * @default 0
   */
  start?: number;
  /**
   * How many bytes; at most 1 MiB.
   * @default 1048576
   */
  length?: number;
}

/** Where an attachment is: a part of a message of a turn. */
export interface AttachmentPlace {
  /** Id of the turn. */
  turn: string;
  /** The message of the turn, counted from 0. */
  message: number;
  /** The part of the message, counted from 0. */
  part: number;
}

/**
 * Some bytes of an attachment, from `start` on. `withheld` says why a view shows none; then `data` is empty.
 *
 * `sequence` is that of the turn.
 */
export interface AttachmentRange {
  sequence: number;
  size: number;
  start: number;
  data: string;
  withheld?: Reason | null;
}

export interface SaveRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** The attachment. */
  attachment: AttachmentPlace;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
}

/**
 * An attachment that was written to a file. `withheld` says why a view does not show it; then there is no file.
 *
 * `position` is that of the event that records it; `file` is the path of the file, where it has one.
 */
export interface SavedAttachment {
  file?: string | null;
  part?: AttachmentPart | null;
  position?: number | null;
  withheld?: Reason | null;
}

export interface ListConversationsRequest {
  /** This channel only. Without it: all channels. */
  channel?: string | null;
  /**
   * Active turns only, or archived ones too.
   * @default "active"
   */
  lifecycle?: LifecycleFilter;
  /**
   * Conversations per page; above 0.
   * @default 50
   */
  limit?: number;
  /** Next cursor of the page before. Without it: the first page. */
  cursor?: string | null;
  /** Which conversations. Default: all. */
  only?: ConversationFilter;
  /** View that decides which words are shown. Default: host_ui, where it is allowed. */
  view?: View | null;
}

/**
 * Which conversations to list; without anything, all of them.
 *
 * Of a subject: those with a turn in which it speaks or is named. Of a time: those with a turn that was observed then,
 * in UTC milliseconds; `until_ms` is not included.
 */
export interface ConversationFilter {
  /** Only with turns of this subject, or that it speaks or is named in. */
  subject?: string | null;
  /** Only with this tag, where the view shows it. */
  tag?: string | null;
  /** Only with turns observed at this time or later, in UTC milliseconds. */
  since_ms?: number | null;
  /** Only with turns observed before this time, in UTC milliseconds. */
  until_ms?: number | null;
}

/** A page of conversations, the most recent one first. Without `view`, no words are shown. */
export interface Conversations {
  conversations: ConversationEntry[];
  has_more: boolean;
  view?: View | null;
  next_cursor?: string | null;
  budget_applied?: BudgetApplied[];
}

/**
 * A conversation as it is listed: what the lifecycle filter shows of it, counted, and its words as shown.
 *
 * `archived`: no turn of it is active. `revision` counts its events, `digest` is the leaf of the newest one, in
 * hexadecimal. `first` and `last` are the first and the last words that are shown, cut to a line.
 */
export interface ConversationEntry {
  channel: string;
  conversation: string;
  turns: number;
  messages: number;
  first_observed_ms: number;
  last_observed_ms: number;
  archived: boolean;
  revision: number;
  digest: string;
  title?: string | null;
  tags?: string[];
  first?: Preview | null;
  last?: Preview | null;
}

/** Words as a view shows them, on one line and cut, and who said them. */
export interface Preview {
  role: Role;
  text: string;
}

export interface ActivityRequest {
  /** Ranges of time, sorted and without overlap. */
  ranges: TimeRange[];
  /** This channel only. Without it: all channels. */
  channel?: string | null;
  /** This conversation only: one of the channel, or of the default channel. */
  conversation?: string | null;
  /**
   * Active turns only, or archived ones too.
   * @default "active"
   */
  lifecycle?: LifecycleFilter;
}

/** A half-open range of time in UTC milliseconds: `from_ms` is inside, `until_ms` is not. */
export interface TimeRange {
  /** Start, in UTC milliseconds. */
  from_ms: number;
  /** End, in UTC milliseconds; not included. */
  until_ms: number;
}

/** What was observed in each of the ranges, in their order. */
export interface Activity {
  ranges: RangeActivity[];
}

/** How many listed turns were observed in a range, and the first and the last of them. */
export interface RangeActivity {
  from_ms: number;
  until_ms: number;
  turns: number;
  first?: Place | null;
  last?: Place | null;
}

export interface ResolveRequest {
  /** A chat id, the id of a conversation, or channel/conversation. */
  name: string;
  /** Whose chat id it is. */
  subject?: string | null;
  /**
   * Channel of the chat or conversation.
   * @default "default"
   */
  channel?: string;
}

/** The conversation that a name means, and what the name was. `turns` counts all of them, whatever their state. */
export interface ResolvedConversation {
  conversation: ConversationKey;
  by: NamedBy;
  turns: number;
}

/** What a name was: the id of a chat, the id of a conversation, or channel and conversation. */
export type NamedBy = "channel_and_conversation" | "chat" | "conversation";

export interface ChangedRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** State that an earlier call returned. Leave it out to get the present one. */
  since?: string | null;
}

/**
 * What happened to a conversation, and its state now.
 *
 * `digest` is that of a `transcripts.timeline` in this state. Both are absent where the conversation has to be read
 * each time, and where there is none.
 */
export interface ConversationChange {
  conversation: ConversationKey;
  /**
   * none: every view shows what it showed. appended: turns came, those before are as they were. other: anything else, or no state was given. missing: there is no such conversation.
   */
  change: ChangeSince;
  state?: string | null;
  digest?: string | null;
}

/** What happened to a conversation since a state of it. */
export type ChangeSince = "appended" | "missing" | "none" | "other";

export interface DescribeRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** Title, at most 1,024 bytes; empty: none. Without it: stays. */
  title?: string | null;
  /** All tags, at most 32; may be repeated. Without it: they stay. */
  tags?: string[] | null;
}

/** What was recorded of a conversation, and at which positions. `changed`: something was. */
export interface Description {
  conversation: ConversationKey;
  changed: boolean;
  title?: string | null;
  tags?: string[] | null;
  positions?: number[];
}

export interface ReadEventsRequest {
  /** Id of the last event, cursor of the last page, or `now`. Without it: from the beginning. */
  after?: string | null;
  /**
   * Maximum of events.
   * @default 50
   */
  limit?: number;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /** This channel only. Without it: all channels. */
  channel?: string | null;
  /** This conversation only: one of the channel, or of the default channel. */
  conversation?: string | null;
  /** Only these topics. Without it: all that the caller may see. */
  topics?: EventTopic[] | null;
}

/** What events are about. */
export type EventTopic = "erasures" | "findings" | "governance" | "memory" | "transcript";

/** Events in the order in which they happened. Go on with `cursor`, now or when something may have happened. */
export interface EventPage {
  cursor: string;
  has_more: boolean;
  view: View;
  events: SpaceEvent[];
  budget_applied?: BudgetApplied[];
}

/**
 * One thing that happened, of one turn or item: a change of several is told as several events.
 *
 * `type` is `turn.erased`, `message.erased` or `item.erased`, or the kind of the event in the log; `action` is what a
 * change did: `archive`, `mask`, `correct`, or why something was redacted. `shown` is the turn, and `item_shown` the
 * memory item, as the view shows it *now*, with what is withheld of the turn in `withheld`.
 *
 * An erasure says which `turn`, `message` or `item` of whose (`subject`) is gone, and has a `leaf` in the tree of the
 * log. Its `receipt` proves offline, with the public key of the log, that the erasure is on record. `replaced`: an
 * archive took the place of the conversation or notebook, which may have the turn or item again.
 */
export interface SpaceEvent {
  id: string;
  type: string;
  topic: EventTopic;
  position: number;
  time_ms: number;
  action?: string | null;
  channel?: string | null;
  conversation?: string | null;
  turn?: string | null;
  sequence?: number | null;
  message?: string | null;
  attribute?: string | null;
  item?: string | null;
  subject?: string | null;
  shown?: SliceTurn | null;
  withheld?: RedactionItem[];
  item_shown?: ShownItem | null;
  operation?: string | null;
  leaf?: string | null;
  receipt?: string | null;
  replaced?: boolean | null;
}

/**
 * A memory item as a view shows it; `withheld` says why its words are missing.
 *
 * `confidence` and `importance` are from 0 to 1, `band` is the confidence in words, `state` how far a reader may rely
 * on it. `revision` counts its revisions. `evidence` is listed for views that show where something came from, as are
 * `writer`, `origin`, `audience` and `note`, to whoever owns the item; all others have `evidence_count` alone.
 */
export interface ShownItem {
  id: string;
  subject: string;
  plane: MemoryPlane;
  kind: ItemKind;
  confidence: number;
  band: ConfidenceBand;
  importance: number;
  privacy: ItemPrivacy;
  scope: ItemScope;
  source_type: ItemSourceType;
  freshness: Freshness;
  state: EvidenceState;
  observed_ms: number;
  recorded_ms: number;
  position: number;
  revision: number;
  evidence_count: number;
  name?: string | null;
  topic?: string | null;
  text?: string | null;
  title?: string | null;
  summary?: string | null;
  note?: string | null;
  keywords?: string[];
  tags?: string[];
  entities?: string[];
  withheld?: Reason | null;
  /** @default false */
  disabled?: boolean;
  /** @default "none" */
  stale?: StaleHint;
  /** @default false */
  pinned?: boolean;
  confirmed_ms?: number | null;
  expires_ms?: number | null;
  retired?: Retirement | null;
  successor?: string | null;
  writer?: string | null;
  audience?: Audience | null;
  origin?: string | null;
  evidence?: ShownEvidence[];
}

/** The part of a memory that a notebook belongs to. */
export type MemoryPlane = "diary" | "long_term" | "runtime_skill" | "shared_fact" | "summary" | "tool_experience";

/** What an item is about. Names of other systems for these are in `memory.kinds`. */
export type ItemKind =
  | "constraint"
  | "correction"
  | "decision"
  | "diary"
  | "experience"
  | "fact"
  | "preference"
  | "procedure"
  | "profile"
  | "project"
  | "relationship"
  | "summary"
  | "task";

/** A confidence in words. */
export type ConfidenceBand = "high" | "low" | "medium";

/** Who may see an item. */
export type ItemPrivacy =
  | "operator_diagnostic"
  | "private_garden"
  | "public_runtime"
  | "shared_with_subject"
  | "soul_private";

/** What an item holds for: one chat, everything of its subject, or the world. */
export type ItemScope = "chat" | "user" | "world";

/** How an item was learned. */
export type ItemSourceType = "conversation" | "external_observation" | "imported" | "manual_tool" | "system_runtime";

/** How fast an item ages. */
export type Freshness = "dynamic" | "stable" | "volatile";

/** How far a reader may rely on an item (LT-09). */
export type EvidenceState = "needs_review" | "possibly_stale" | "recent_state" | "stable_fact";

/** What a reader should do before relying on an item. */
export type StaleHint = "none" | "review_before_use" | "verify_against_current_state";

/** Why an item was taken out of use. What was forgotten or replaced is destroyed; the others can be restored. */
export type Retirement =
  | "accepted"
  | "evicted"
  | "forgotten"
  | "invalidated"
  | "policy"
  | "proposed"
  | "rejected"
  | "replaced"
  | "restored"
  | "source_gone"
  | "superseded"
  | "undone"
  | "withdrawn";

/**
 * Which subjects may know of a shared fact: these alone, all but these, or (neither) all.
 *
 * Subjects are named as everywhere in meta bodies: their names outlive the erasure of what they said.
 */
export interface Audience {
  only?: string[];
  hidden_from?: string[];
}

/** A turn that an item rests on, as people cite it, and whether its words are still shown to anybody. */
export interface ShownEvidence {
  citation: string;
  phase: Phase;
}

export interface ListSubjectsRequest {
  /**
   * Active turns only, or archived ones too.
   * @default "active"
   */
  lifecycle?: LifecycleFilter;
  /**
   * Subjects per page; above 0.
   * @default 50
   */
  limit?: number;
  /** Next cursor of the page before. Without it: the first page. */
  cursor?: string | null;
}

/** A page of subjects by name. */
export interface SubjectsPage {
  subjects: SubjectEntry[];
  has_more: boolean;
  next_cursor?: string | null;
}

/**
 * A subject: how many listed conversations and turns are about it, and when the first and last were observed.
 *
 * `turns` are its own; `named_in` are turns of others in which it speaks or is named.
 */
export interface SubjectEntry {
  subject: string;
  conversations: number;
  turns: number;
  named_in: number;
  first_observed_ms: number;
  last_observed_ms: number;
}

export interface InspectMemoryRequest {
  /** The subject. */
  subject: string;
  /** View that decides what is shown. */
  view: View;
  /** Items that have all these words. Without it: all. */
  query?: string | null;
  /**
   * Maximum of characters of the text, from 0 up.
   * @default 4000
   */
  length_max?: number;
}

/**
 * What memory holds of a subject, as far as the view shows it.
 *
 * `operations` are those of memory that the caller may use. `text` has the items in use that match, one a line, in
 * `length` characters; `matching` counts them, `written` those that fitted. `withheld` counts items that the view does
 * not show.
 */
export interface MemoryInspection {
  operations: string[];
  planes: PlaneCounts[];
  withheld: number;
  needs_review: number;
  matching: number;
  written: number;
  length: number;
  length_max: number;
  text: string;
  skills: MountedSkills;
  registries: RegistryList;
  positions: number[];
}

/** The items of a plane that are in use, by how far to rely on them; and the others, by why they are not in use. */
export interface PlaneCounts {
  plane: MemoryPlane;
  in_use: number;
  states: Record<string, number>;
  disabled: number;
  expired: number;
  retired: Record<string, number>;
}

/** The packages of all mounted directories, and what is wrong with them. `skipped` counts what is no skill. */
export interface MountedSkills {
  directories: number;
  active: number;
  packages: SkillPackage[];
  findings?: SkillFinding[];
  /** @default 0 */
  skipped?: number;
  /** @default 0 */
  findings_left_out?: number;
}

/**
 * An agent skill in a mounted directory, by the name of that: its folder and what it says of itself.
 *
 * `resources` counts its other files. `fingerprint` is a SHA-256 over all of them, or absent where not all could be
 * read.
 */
export interface SkillPackage {
  name: string;
  description: string;
  directory: string;
  folder: string;
  resources: number;
  fingerprint?: string | null;
}

/** Something that is wrong with a directory, a folder in it, or a path in that; `limit` is one that was hit. */
export interface SkillFinding {
  directory: string;
  reason: string;
  /** @default "" */
  folder?: string;
  /** @default "" */
  path?: string;
  line?: number | null;
  limit?: number | null;
}

/** The registries that the caller may know of, by their ids. `left_out`: there are so many more. */
export interface RegistryList {
  registries: ListedRegistry[];
  total: number;
  left_out: number;
}

/** A registry in short. */
export interface ListedRegistry {
  registry: string;
  namespace: string;
  owner: string;
  scope: RegistryScope;
  fingerprint: string;
  revision: number;
  position: number;
  registered_ms: number;
  tools: number;
  disabled: number;
}

/** What a registry is for. All but `global` is for its owner alone. */
export type RegistryScope = "conversation" | "global" | "owner" | "project" | "workspace";

export interface ExportSubjectRequest {
  /** The subject. */
  subject: string;
  /**
   * A page for people, or JSON for programs.
   * @default "html"
   */
  format?: SubjectFormat;
  /**
   * View that decides what is shown.
   * @default "export"
   */
  view?: View;
  /** Who receives it; recorded. */
  recipient?: string | null;
  /** What it is for; recorded. */
  purpose?: string | null;
}

/** The format of everything about a subject: a page for people, or JSON for programs. */
export type SubjectFormat = "html" | "json";

/** A report that is a text of its own: a bundle, a receipt. `summary` lists facts about it. */
export interface Document {
  media_type: string;
  text: string;
  summary: Record<string, string | number | boolean | null>;
}

export interface FindRequest {
  /** What to find, how, and where. */
  sought: SoughtText;
  /** A view that no longer shows it; may be repeated. Without it: every view but raw_owner. */
  views?: View[] | null;
  /**
   * Maximum of places to list; the counts are complete.
   * @default 100
   */
  limit?: number;
}

/** A text to find: how it may be spelled, and where. */
export interface SoughtText {
  /** The text, number, wildcard or type of a detector. */
  text: string;
  /**
   * As it is, in any case, by digits alone, with ? and *, or what a detector finds.
   * @default "literal"
   */
  matching?: Matching;
  /** Search this channel only. */
  channel?: string | null;
  /** Search this conversation only: one of the channel, or of the default channel. */
  conversation?: string | null;
}

/** How a text is sought. */
export type Matching = "any_case" | "detector" | "digits" | "literal" | "wildcard";

/**
 * Where a text occurs, and what `apply` would withhold.
 *
 * `matches` counts all places: `to_redact` of them are not withheld from all the views yet, `already` are, and
 * `not_redactable` are in values of attributes. `by_extent` counts them by what is withheld. `masked_turns` were not
 * searched. `places` lists the first ones.
 */
export interface RedactionPreview {
  token: string;
  matches: number;
  to_redact: number;
  already: number;
  not_redactable: number;
  conversations: number;
  turns: number;
  masked_turns: number;
  by_extent?: Record<string, number>;
  places?: FoundPassage[];
  /** @default false */
  clipped?: boolean;
}

/** What is withheld where a text occurs; of an attribute, nothing can be. */
export type Extent = "attribute" | "field" | "part" | "range";

/**
 * A place at which the text occurs: what would be withheld there, and what stands around it.
 *
 * `already`: it is withheld from all the views. Of an attribute nothing can be withheld; it is named by its id.
 */
export interface FoundPassage {
  conversation: ConversationKey;
  turn: string;
  sequence: number;
  extent: Extent;
  passage: Passage;
  excerpt: string;
  /** @default false */
  already?: boolean;
  attribute?: string | null;
}

export interface ApplyRequest {
  /** What to find, how, and where. */
  sought: SoughtText;
  /** The token of the preview. */
  token: string;
  /** Kind of reason; recorded. */
  reason: RedactionReason;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** A view that no longer shows it; may be repeated. Without it: every view but raw_owner. */
  views?: View[] | null;
  /** Why, in your own words; recorded. */
  note?: string | null;
}

/** What was withheld: how many places in how many turns, and what could not be or was not searched. */
export interface BulkRedactionReport {
  changed: boolean;
  redacted: number;
  already: number;
  not_redactable: number;
  turns: number;
  masked_turns: number;
  views: View[];
  reason: RedactionReason;
}

export interface RememberRequest {
  /** What to remember. */
  candidates: Candidate[];
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** Name of the run that found it; recorded. */
  run?: string | null;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
}

/**
 * What a host would like to remember about a subject.
 *
 * `topic` and `kind` are the slot, of a skill it is the `name`. Without `evidence` the candidate must be `attested`:
 * somebody vouches for it who is named as the requester.
 */
export interface Candidate {
  /** Subject that the statement is about. */
  subject: string;
  /** Kind, as `preference`; names of other systems are known, as `todo`. */
  kind: string;
  /** What it is about, in few words; one statement for each kind and topic. */
  topic: string;
  /** The statement. */
  text: string;
  /** Name of a skill, as `runtime_skill__deploy`. */
  name?: string | null;
  /** Title, for lists. */
  title?: string | null;
  /** The statement in short. */
  summary?: string | null;
  /** Remark of the operator, for `raw_owner` alone. */
  note?: string | null;
  /** Id of the item to be. Without it one is drawn. */
  id?: string | null;
  /**
   * Plane of the memory.
   * @default "long_term"
   */
  plane?: MemoryPlane;
  /**
   * With which authority it was said.
   * @default "user_asserted"
   */
  authority?: Authority;
  /**
   * Who may see it.
   * @default "shared_with_subject"
   */
  privacy?: ItemPrivacy;
  /** Which other subjects may know of it, if it is a `shared_fact`. Without it: all. */
  audience?: ItemAudience;
  /** From 0 to 1. Without it: that of the authority. */
  confidence?: number | null;
  /**
   * From 0 to 1.
   * @default 0.5
   */
  importance?: number;
  /**
   * How fast it ages.
   * @default "stable"
   */
  freshness?: Freshness;
  /**
   * What it holds for.
   * @default "user"
   */
  scope?: ItemScope;
  /**
   * How it was learned.
   * @default "conversation"
   */
  source_type?: ItemSourceType;
  /** When it was true. Without it: now. */
  observed_ms?: number | null;
  /** When it ends to be true. Without it: never. */
  expires_ms?: number | null;
  /**
   * Whether it outlives whatever evicts items.
   * @default false
   */
  pinned?: boolean;
  /** Further words to find it by. */
  keywords?: string[];
  /** Tags. */
  tags?: string[];
  /** Canonical names of whom and what it mentions. */
  entities?: string[];
  /** Turns that it rests on. */
  evidence?: ItemSource[];
  /**
   * Whether the requester vouches for it without evidence.
   * @default false
   */
  attested?: boolean;
  /** Name of what it was taken from outside of the store, as of a file. */
  origin?: string | null;
  /** What was judged of its meaning. */
  judgement?: SemanticJudgement | null;
}

/**
 * Which subjects may know of a shared fact beside its own: all, `only` these, or all who are not in `hidden_from`.
 *
 * The names of subjects outlive what an item says.
 */
export interface ItemAudience {
  /** These alone. */
  only?: string[];
  /** All but these. */
  hidden_from?: string[];
}

/** A turn, or a message of it, that an item rests on. */
export interface ItemSource {
  /** Conversation of the turn. */
  conversation: ConversationKey;
  /** Id of the turn. */
  turn: string;
  /** Id of a message of the turn. */
  message?: string | null;
}

/** What somebody who understands the statement decided about it. */
export interface SemanticJudgement {
  /** What was decided. */
  decision: Ruling;
  /**
   * Who decided.
   * @default "host"
   */
  judged_by?: JudgedBy;
}

/** What becomes of a candidate. */
export type Ruling = "accept" | "defer" | "hand_off" | "refuse";

/** Who judged what a candidate means. */
export type JudgedBy = "host" | "model_governance" | "runtime_gate";

/** What became of each candidate, in their order; `recorded` of them are new items. */
export interface RememberReport {
  dry_run: boolean;
  recorded: number;
  candidates: RememberedCandidate[];
}

/**
 * What became of a candidate: what was decided, why, and the item that says it now.
 *
 * `replaces` is the item that it took the place of, `evicted` are those that made room for it, `policy` is the one
 * that stopped it. `likeness` is the share of its words that it has in common with the item that was in its slot.
 */
export interface RememberedCandidate {
  decision: Ruling;
  reason: string;
  changed: boolean;
  item?: string | null;
  position?: number | null;
  replaces?: string | null;
  likeness?: number | null;
  policy?: string | null;
  evicted?: string[];
}

export interface RecallRequest {
  /** Subject whose memory is asked. */
  subject: string;
  /** The question, in plain words. */
  query: string;
  /**
   * View that decides what is shown.
   * @default "model_context"
   */
  view?: View;
  /** What to recall from. Default: everything. */
  scope?: RecallScope;
  /** How to rank. Default: balanced. */
  ranking?: RecallRanking;
  /**
   * Maximum of hits; above 0.
   * @default 8
   */
  limit?: number;
  /** Tool registries that the host has: hints of these alone. Without any: of all that are there. */
  registries?: RegistryReference[];
}

/**
 * What to recall from.
 *
 * `conversation` is the one that goes on: a question of too few words is extended with its newest messages, and items
 * that hold for one chat count for more there.
 */
export interface RecallScope {
  /** These planes only. Without any: all. */
  planes?: RecallPlane[];
  /** The conversation that goes on: one of the channel, or of the default channel. */
  conversation?: string | null;
  /** Channel of the conversation. */
  channel?: string | null;
  /** As it was known at this time. Without it: now. */
  as_of_ms?: number | null;
}

/** Where a hit comes from: a plane of memory, the agent skills that the host mounts, or the transcripts. */
export type RecallPlane =
  | "agent_skill"
  | "diary"
  | "long_term"
  | "runtime_skill"
  | "shared_fact"
  | "summary"
  | "tool_experience"
  | "transcript";

/** How to rank: with named weights or one by one, and what is too little to be an answer. */
export interface RecallRanking {
  /**
   * Named weights.
   * @default "balanced"
   */
  preset?: RecallPreset;
  /** Weight of each component, instead of a preset. */
  weights?: RecallWeights | null;
  /**
   * Leave out what matches less of the question, from 0 to 1.
   * @default 0.2
   */
  least_relevance?: number;
  /**
   * Explain each score, and list what was considered.
   * @default false
   */
  explain?: boolean;
}

/** Weights with a name. */
export type RecallPreset = "balanced" | "decay" | "similarity";

/**
 * What each component adds to a score. Each is a number from 0 to 1; one that a hit does not have is 0.
 *
 * - `lexical`: BM25 of the words, as a share of the best hit.
 * - `similarity`: how far the cosine is above the mean, as a share of the best hit; 0 without an embedder.
 * - `context`: what the messages before and after, and the best ones of the session, lend a message.
 * - `source`: what the turns that it rests on lend an item: the score of the best one, as a share of the best message;
 *   in views that show where something was said.
 * - `exact`: 1 if the question has every word of the topic, or is the statement itself.
 * - `keyword`, `entity`: the share of the keywords and tags, and of the entities, that the question has.
 * - `time`: 1 if it is of a time that the question names, less with the distance from it.
 * - `recency`: 1 for now, a half for 30 days ago.
 * - `confidence`: the confidence of an item.
 * - `scope`: 1 for an item of the conversation, of the subject or of the world; 0 for one of another conversation.
 * - `governance`: 1 for a pinned item, else its importance.
 * - `evidence`: 1 for two sources that are still shown or more, a half for one.
 * - `authority`: 1 for what a user said or a person attested; see `AUTHORITIES`.
 * - `stale`: subtracted: 1 if an item needs a review, a half if it is possibly stale.
 *
 * With `half_life_days` the score of what ages (dynamic and volatile items, diaries, messages) is halved after so many
 * days; 0 turns that off. What has less than `least` is dropped.
 */
export interface RecallWeights {
  /** @default 1.0 */
  lexical?: number;
  /** @default 0.7 */
  similarity?: number;
  /** @default 0.4 */
  context?: number;
  /** @default 1.0 */
  source?: number;
  /** @default 0.3 */
  exact?: number;
  /** @default 0.15 */
  keyword?: number;
  /** @default 0.15 */
  entity?: number;
  /** @default 0.8 */
  time?: number;
  /** @default 0.05 */
  recency?: number;
  /** @default 0.15 */
  confidence?: number;
  /** @default 0.05 */
  scope?: number;
  /** @default 0.05 */
  governance?: number;
  /** @default 0.05 */
  evidence?: number;
  /** @default 0.2 */
  authority?: number;
  /** @default 0.15 */
  stale?: number;
  /** @default 0.0 */
  half_life_days?: number;
  /** @default 0.0 */
  least?: number;
}

/** The registry that a host has at the moment. */
export interface RegistryReference {
  /** Id of the registry. */
  registry: string;
  /** Its fingerprint. */
  fingerprint: string;
  /** What it is for. Without it: anything. */
  scope?: RegistryScope | null;
}

/**
 * What memory has on a question, the best first, and what became of each plane; empty when nothing fits.
 *
 * `extended`: the question had too few words, and the newest messages of the conversation were searched for with it.
 * `registries` are those that give no hints: named ones, or those of experience that was found.
 */
export interface Recollection {
  hits: RecallHit[];
  planes: PlaneReport[];
  semantic: SemanticCoverage;
  semantic_reason?: string | null;
  /** @default false */
  extended?: boolean;
  registries?: RegistryProblem[];
}

/**
 * An item, a message or an agent skill that was recalled.
 *
 * `id` is that of the item or the message, or the name of the skill; a skill has no position and no time, `text` is
 * its description, and `fingerprint` that of `skills.mounted`. `score` orders the hits; `relevance` is from 0 to 1:
 * how much of the question it has. `components` are, with `explain`, the parts of the score. `evidence` are the turns
 * of an item, and the turn of a message. `confidence` is from 0 to 1.
 */
export interface RecallHit {
  plane: RecallPlane;
  id: string;
  text: string;
  score: number;
  relevance: number;
  position?: number | null;
  observed_ms?: number | null;
  topic?: string | null;
  kind?: ItemKind | null;
  confidence?: number | null;
  state?: EvidenceState | null;
  role?: Role | null;
  speaker?: string | null;
  fingerprint?: string | null;
  /** @default false */
  cut?: boolean;
  evidence?: HitEvidence[];
  components?: Record<string, number> | null;
}

/** A turn that a hit rests on. `withheld` says why the view does not show it, or does not say which one it is. */
export interface HitEvidence {
  conversation?: ConversationKey | null;
  turn?: string | null;
  message?: string | null;
  withheld?: Reason | null;
}

/**
 * What became of a plane: how many candidates it had, how many matched, which were selected, or why none.
 *
 * `backend` is `words`, or `words+meaning` where vectors counted. `withheld` counts what the view does not show.
 * `findings` counts what is wrong in the mounted directories; `skills.mounted` says what. `without_hint` counts
 * experience with tools that was found and gives no hint. `considered` are, with `explain`, its best candidates.
 */
export interface PlaneReport {
  plane: RecallPlane;
  backend: string;
  candidates: number;
  matched: number;
  selected: number;
  ids?: string[];
  /** @default 0 */
  withheld?: number;
  /** @default 0 */
  findings?: number;
  /** @default 0 */
  without_hint?: number;
  miss?: RecallMiss | null;
  considered?: ConsideredCandidate[];
}

/** Why a plane has no hit. */
export type RecallMiss =
  | "below_threshold"
  | "no_hint"
  | "nothing_matched"
  | "nothing_there"
  | "outranked"
  | "unavailable"
  | "withheld";

/** A candidate with the parts of its score, selected or not. */
export interface ConsideredCandidate {
  id: string;
  score: number;
  relevance: number;
  selected: boolean;
  components: Record<string, number>;
}

/** A registry that gives no hints, and why. */
export interface RegistryProblem {
  registry: string;
  reason: HintRefusal;
}

/** Why there are no hints about a registry or a tool. */
export type HintRefusal =
  | "fingerprint_mismatch"
  | "needs_review"
  | "no_governed_tool_experience"
  | "registry_missing"
  | "scope_mismatch"
  | "tool_disabled"
  | "unknown_tool";

export interface ListRequest {
  /** Subject of the items. */
  subject: string;
  /** View that decides what is shown. */
  view: View;
  /** Which of them. Without it: those in use. */
  selection?: ItemSelection;
  /**
   * Maximum of items.
   * @default 100
   */
  limit?: number;
  /** Go on behind this position. Without it: the first page. */
  after?: number | null;
}

/** Which items of a subject are listed. */
export interface ItemSelection {
  /** These planes only. Without any: all. */
  planes?: MemoryPlane[];
  /** These kinds only. Without any: all. */
  kinds?: ItemKind[];
  /**
   * Items in use only, or retired ones too.
   * @default "active"
   */
  state?: ItemFilter;
  /**
   * Also shared facts about others that this subject may know of.
   * @default false
   */
  shared?: boolean;
  /** As it was known at this time. Without it: now. */
  as_of_ms?: number | null;
}

/** Which items are listed: those in use, or those that were retired or have expired, too. */
export type ItemFilter = "active" | "all";

/**
 * Items of a subject, plane by plane in the order of their recording.
 *
 * `total` counts those that the view shows on all pages, `withheld` those that it does not show. `next_after` is the
 * position to go on behind; absent on the last page.
 */
export interface ListedItems {
  items: ShownItem[];
  total: number;
  withheld: number;
  next_after?: number | null;
}

export interface ShowRequest {
  /** Id of the item. */
  item: string;
  /** View that decides what is shown. */
  view: View;
  /** As it was known at this time. Without it: now. */
  as_of_ms?: number | null;
}

/** An item with its history; without an item, `missing` says why the view shows none. */
export interface ItemDetail {
  item?: ShownItem | null;
  revisions?: ItemRevision[];
  missing?: Reason | null;
}

/**
 * One thing that happened to an item: what and when, and where a correction changed the text, both texts.
 *
 * Views that show where something came from also show at whose request and why. Of an item of somebody else nothing is
 * told but what happened and when.
 */
export interface ItemRevision {
  action: string;
  position: number;
  time_ms: number;
  requester?: string | null;
  reason?: string | null;
  former_text?: string | null;
  text?: string | null;
  successor?: string | null;
}

export interface PromptRequest {
  /** Subject of the items. */
  subject: string;
  /** Maximum of tokens of the block, from 0 up. */
  budget_tokens: number;
  /** The next question: what it recalls comes first. Without it: no recall. */
  query?: string | null;
  /**
   * View that decides what is shown.
   * @default "model_context"
   */
  view?: View;
  /** What goes into the block beside items. */
  composition?: BlockComposition;
  /** Tool registries that the host has: hints of these alone. Without any: of all that are there. */
  registries?: RegistryReference[];
}

/**
 * What goes into a block beside the items of the subject.
 *
 * `conversation` is the one that goes on: with `recent_messages` so many of its newest messages are offered, and a
 * question of too few words is extended with them. `hits` is how many items and messages a question may recall.
 */
export interface BlockComposition {
  /** The conversation that goes on: one of the channel, or of the default channel. */
  conversation?: string | null;
  /** Channel of the conversation. */
  channel?: string | null;
  /**
   * How many of its newest messages are offered.
   * @default 0
   */
  recent_messages?: number;
  /**
   * How much a question may recall.
   * @default 8
   */
  hits?: number;
  /**
   * Named weights of the recall.
   * @default "balanced"
   */
  preset?: RecallPreset;
}

/**
 * A block for a prompt, and what is in it.
 *
 * `tokens` is what `counter` says of exactly this text, `chars` its characters; `tokens` is never above
 * `budget_tokens`, nor `chars` above what the profile allows. Items that may not stand in prompts are not offered:
 * `withheld` counts them. `recalled` is how many hits a question had. `registries` give no hints.
 */
export interface PromptBlock {
  text: string;
  tokens: number;
  chars: number;
  budget_tokens: number;
  counter: string;
  cut: boolean;
  withheld: number;
  recalled: number;
  sections: SectionReport[];
  positions: number[];
  registries: RegistryProblem[];
}

/**
 * What became of the entries of a section. `ids` are those included, in the order of the block.
 *
 * `size` is what the counter says of the text of the section by itself; the sizes of sections do not add up to that
 * of the block. `cut`: not all of what was offered is included.
 */
export interface SectionReport {
  section: BlockSection;
  offered: number;
  included: number;
  left_out: number;
  ids: string[];
  size: number;
  cut: boolean;
}

/** The sections of a block, in their order. */
export type BlockSection =
  | "corrections"
  | "facts"
  | "recalled_evidence"
  | "recent_messages"
  | "recent_state"
  | "skills"
  | "tool_hints";

export interface AmendItemRequest {
  /** Id of the item. */
  item: string;
  /** What to change. */
  amendment: Amendment;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** Revision that was seen; another one is a conflict. Without it: any. */
  expected?: number | null;
  /** Name of the run that does it; recorded. */
  run?: string | null;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
}

/** Say it in other words, or with another confidence. Its privacy is changed by `change_privacy` alone. */
export interface CorrectItem {
  type: "correct";
  /** The statement. */
  text?: string | null;
  /** From 0 to 1. */
  confidence?: number | null;
}

/** Confirm that it is still true; it is as fresh as if it were observed now. */
export interface RefreshItem {
  type: "refresh";
}

/** Tell readers what to do before they rely on it. */
export interface MarkItemStale {
  type: "mark_stale";
  /**
   * What to do.
   * @default "review_before_use"
   */
  hint?: StaleHint;
}

/** Let it hold for something else. */
export interface ChangeItemScope {
  type: "change_scope";
  /** What it holds for. */
  scope: ItemScope;
}

/** Let others see it, or fewer. */
export interface ChangeItemPrivacy {
  type: "change_privacy";
  /** Who may see it. */
  privacy: ItemPrivacy;
}

/** Let other subjects know of a shared fact, or fewer. */
export interface ChangeItemAudience {
  type: "change_audience";
  /** Which subjects may know of it. */
  audience: ItemAudience;
}

/** Let it outlive whatever evicts items, or no longer. */
export interface PinItem {
  type: "pin";
  /**
   * Whether it does.
   * @default true
   */
  pinned?: boolean;
}

/** Put a new item in its slot and retire it, in one step. */
export interface SupersedeItem {
  type: "supersede";
  /** The statement of the new item. */
  text: string;
  /** Id of the new item. Without it one is drawn. */
  id?: string | null;
  /** From 0 to 1. Without it: high. */
  confidence?: number | null;
  /** Turns that it rests on. */
  evidence?: ItemSource[];
}

/** Retire it as wrong, on a ground and with evidence. */
export interface InvalidateItem {
  type: "invalidate";
  /** On what ground. */
  ground: InvalidityGround;
  /** Turns that show it. */
  evidence: ItemSource[];
}

/** On what ground an item was invalidated. */
export type InvalidityGround =
  | "contradicted_by_governed_evidence"
  | "factually_incorrect"
  | "integrity_violation"
  | "source_authority_revoked";

/** Use a retired item again, unless another one is in its slot. */
export interface RestoreItem {
  type: "restore";
}

/**
 * What became of an amendment. One that is not accepted has a reason and changed nothing.
 *
 * `former_revision` and `revision` are the numbers before and after; `position` is that of the event, `successor`
 * the id of the new item. `was_in_prompts`: prompts could hold the item as it was, so make them again.
 */
export interface AmendReport {
  accepted: boolean;
  changed: boolean;
  dry_run: boolean;
  amendment: string;
  target: string;
  reason?: AmendRefusal | null;
  former_revision?: number | null;
  revision?: number | null;
  position?: number | null;
  successor?: string | null;
  /** @default false */
  was_in_prompts?: boolean;
}

/** Why an amendment changes nothing. */
export type AmendRefusal =
  | "formatted_dump"
  | "needs_feedback"
  | "not_in_use"
  | "nothing_changed"
  | "private_target"
  | "slot_taken"
  | "source_hidden"
  | "target_not_found"
  | "weak_skill";

export interface JournalRequest {
  /** Subject of the items. */
  subject: string;
  /** This day (UTC) alone. Without it: everything. */
  day_ms?: number | null;
  /**
   * View that decides what is shown.
   * @default "export"
   */
  view?: View;
}

/**
 * A report that is a folder of texts. `summary` lists facts about it.
 *
 * A transport that writes the folder replaces a file whose first line is that of the new one, and no other.
 */
export interface DocumentFolder {
  files: DocumentFile[];
  summary: Record<string, string | number | boolean | null>;
}

/** A file of a folder: its path within that, with slashes, and its text. */
export interface DocumentFile {
  name: string;
  text: string;
}

/** What became of each file, in their order, and of all statements; of a dry run, what would become of them. */
export interface MemoryImport {
  dry_run: boolean;
  recorded: number;
  duplicates: number;
  refused: number;
  not_understood: number;
  files: ImportedNotes[];
}

/**
 * What became of a file: its statements are `recorded`, were there before (`duplicates`), or are `refused`.
 *
 * `unread` says why the whole file was not read. `refused_lines` and `flaws` list the first 100 of their kind;
 * `not_understood` counts all lines that are no statement.
 */
export interface ImportedNotes {
  name: string;
  /** @default 0 */
  statements?: number;
  /** @default 0 */
  recorded?: number;
  /** @default 0 */
  duplicates?: number;
  /** @default 0 */
  refused?: number;
  /** @default 0 */
  not_understood?: number;
  unread?: string | null;
  refused_lines?: RefusedStatement[];
  flaws?: FlawedNote[];
}

/** A statement that became no item: where it begins, and why. */
export interface RefusedStatement {
  line: number;
  reason: string;
}

/** A line that is no statement, or (0) a whole file, and why. */
export interface FlawedNote {
  line: number;
  reason: NoteFlaw;
}

/** Why a line of a file is no statement, or a file is not read. */
export type NoteFlaw =
  | "code"
  | "damaged_entry"
  | "done_task"
  | "front_matter"
  | "html"
  | "no_memory"
  | "not_memories"
  | "not_utf8"
  | "other_user"
  | "picture"
  | "quotation"
  | "table"
  | "too_deep"
  | "too_large"
  | "too_many";

export interface ForgetRequest {
  /** Subject of the items. */
  subject: string;
  /** What to forget. */
  target: ForgetTarget;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
}

/**
 * What to forget: exactly one of `item`, `topic`, `turn` and `words`.
 *
 * `item`: one item. `topic` with `kind`: everything that is, or was, said in that slot of the plane; the slot of a
 * skill is its name, which is given instead of the topic. `turn` with `conversation`: the one item of the planes
 * `long_term` and `shared_fact` that rests on the turn; several are listed, and none is guessed. `words`: every item
 * that has all of them, or had them before it was changed, which takes the `token` of a dry run.
 */
export interface ForgetTarget {
  /** Id of an item. */
  item?: string | null;
  /** Everything said of this topic; needs the kind. */
  topic?: string | null;
  /** Kind of the items of the topic. */
  kind?: string | null;
  /**
   * Plane of the topic.
   * @default "long_term"
   */
  plane?: MemoryPlane;
  /** The item that rests on this turn; needs the conversation. */
  turn?: string | null;
  /** Conversation of the turn. */
  conversation?: string | null;
  /** Channel of the conversation. Without it: the default channel. */
  channel?: string | null;
  /** Every item that has, or had, all these words. */
  words?: string | null;
  /** Token of a dry run with the same words. */
  token?: string | null;
}

/**
 * What became of a request to forget. One that is not accepted has a reason, and changed nothing.
 *
 * `items` are the ids of the items that match, `kept` those of them that a hold keeps. `token` confirms a query, once:
 * it is bound to the query and to what matched it. A dry run has the reason that the request would have.
 */
export interface ForgetReport {
  accepted: boolean;
  changed: boolean;
  dry_run: boolean;
  items: string[];
  kept?: string[];
  reason?: string | null;
  token?: string | null;
  position?: number | null;
  receipt?: ErasureReceipt | null;
}

/**
 * What an erasure did. `outside` lists what no store can reach; `proof` is a C2SP tlog-proof of the event.
 *
 * An erasure that had to leave turns in between, or reached several conversations, is several events: `positions` are
 * all of them, `position`, `leaf` and `proof` those of the first; `lifecycle receipts` has the proofs of the others.
 * `experience_erased` counts those of the items that were experience with tools, `registries` are the ids of tool
 * registries that went with their owner.
 */
export interface ErasureReceipt {
  position: number;
  leaf: string;
  turns_erased: number;
  places: ErasedPlace[];
  outside: string[];
  proof: string;
  positions: number[];
  /** @default 0 */
  items_erased?: number;
  /** @default 0 */
  experience_erased?: number;
  registries?: string[];
}

/** One location of the content, and what was done there. */
export interface ErasedPlace {
  place: string;
  done: string;
}

export interface SetMemoryPolicyRequest {
  /** What the policy does, or what ends one. */
  action: PolicyAction;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** What it is about; it has to say something. */
  selector?: MemorySelector;
  /** When it ends by itself. Without it: never. */
  until_ms?: number | null;
}

/** What a policy does, or what ends one. */
export type PolicyAction = "follow" | "keep" | "lift" | "pause" | "resume" | "suppress";

/**
 * What a policy is about. What is left out is not looked at; all memory of the space takes `everything`.
 *
 * `topic` is compared as slots compare topics; `*` in it stands for any text, and takes a `subject`.
 */
export interface MemorySelector {
  /** Statements about this subject. */
  subject?: string | null;
  /** Statements of this kind. */
  kind?: string | null;
  /** Statements about this topic; `*` stands for any text. */
  topic?: string | null;
  /** Statements that rest on a turn of this conversation. */
  conversation?: string | null;
  /** Channel of the conversation. Without it: the default channel. */
  channel?: string | null;
  /** Statements that hold for this. */
  scope?: ItemScope | null;
  /**
   * All memory of the space, of every subject.
   * @default false
   */
  everything?: boolean;
}

/**
 * What became of a request for a policy. `policy` is the id of the one in force now, `ended` are those that ended.
 *
 * One that changes nothing has a `reason`.
 */
export interface MemoryPolicyReport {
  changed: boolean;
  action: PolicyAction;
  policy?: string | null;
  ended?: string[];
  reason?: string | null;
  position?: number | null;
}

export interface PoliciesRequest {
  /** Policies about this subject only. Without it: all. */
  subject?: string | null;
}

/** The policies in force, in the order in which they were set. */
export interface PoliciesInForce {
  policies: MemoryPolicyInForce[];
}

/** A policy in force. `has_topic`: it is about all subjects and one topic, of which only a digest is kept. */
export interface MemoryPolicyInForce {
  policy: string;
  action: PolicyAction;
  position: number;
  requester: string;
  requested_ms: number;
  reason: string;
  subject?: string | null;
  kind?: ItemKind | null;
  topic?: string | null;
  has_topic?: boolean | null;
  conversation?: ConversationKey | null;
  scope?: ItemScope | null;
  until_ms?: number | null;
}

export interface ProposeRequest {
  /** What should be remembered. */
  candidates: Candidate[];
  /** Why; for those who decide. At most 4,096 bytes. */
  rationale: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
}

/** What became of each candidate, in their order; `proposed` of them are new proposals. */
export interface ProposeReport {
  dry_run: boolean;
  proposed: number;
  candidates: ProposedCandidate[];
}

/**
 * What became of a candidate that was proposed: the id of the proposal, and what accepting it now would do.
 *
 * `replaces` and `evicted` are the items that would give way. One that would change nothing, or may not be remembered,
 * is no proposal; `reason` and `policy` say why.
 */
export interface ProposedCandidate {
  changed: boolean;
  decision: Ruling;
  reason: string;
  proposal?: string | null;
  position?: number | null;
  replaces?: string | null;
  evicted?: string[];
  policy?: string | null;
}

export interface ProposalsRequest {
  /** Subject of the proposals. */
  subject: string;
  /** View that decides what is shown. */
  view: View;
  /**
   * Those to decide about, or all.
   * @default "open"
   */
  state?: ProposalFilter;
  /**
   * Maximum of proposals.
   * @default 100
   */
  limit?: number;
  /** Go on behind this position. Without it: the first page. */
  after?: number | null;
}

/** Which proposals are listed: those that nobody has decided about, or all. */
export type ProposalFilter = "all" | "open";

/**
 * Proposals about a subject, in the order of their recording.
 *
 * `total` counts those that the view shows on all pages, `withheld` those that it does not show. `next_after` is the
 * position to go on behind; absent on the last page.
 */
export interface ListedProposals {
  proposals: ShownProposal[];
  total: number;
  withheld: number;
  next_after?: number | null;
}

/**
 * A proposal as a view shows it: the item that it would be, and why somebody proposes it.
 *
 * `item.retired` says what became of it: `proposed`, `accepted` or `rejected`.
 */
export interface ShownProposal {
  item: ShownItem;
  rationale?: string | null;
}

export interface DecideProposalRequest {
  /** Id of the proposal. */
  proposal: string;
  /** Accept or reject it. */
  verdict: ProposalVerdict;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
}

/** What somebody decides about a proposal. */
export type ProposalVerdict = "accept" | "reject";

/**
 * What became of a decision about a proposal. One that changes nothing has a `reason`.
 *
 * `candidate` is what became of it as a candidate, when it was accepted; one that is refused stays a proposal.
 */
export interface DecideReport {
  changed: boolean;
  dry_run: boolean;
  proposal: string;
  asked: ProposalVerdict;
  reason?: string | null;
  position?: number | null;
  candidate?: RememberedCandidate | null;
}

export interface UndoRunRequest {
  /** Name of the run. */
  run: string;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
}

/**
 * What became of what a run did. `requests` counts what is on record of the run: 0 for an unknown one.
 *
 * For a caller whose access is for one subject only requests count that did something to memory of that subject.
 * `retired` are the ids of items that went out of use, `restored` of those that are in use again, `reverted` of those
 * that say again what they said. `conflicts` are left alone.
 */
export interface UndoReport {
  run: string;
  dry_run: boolean;
  changed: boolean;
  requests: number;
  retired: string[];
  restored: string[];
  reverted: string[];
  conflicts: UndoConflict[];
}

/** An item that is left as it is, and why. */
export interface UndoConflict {
  item: string;
  reason: UndoObstacle;
}

/** Why what a run did to an item is not undone. */
export type UndoObstacle = "changed_since" | "forgotten" | "slot_taken" | "source_hidden";

export interface ListSkillsRequest {
  /** Subject of the skills. */
  subject: string;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /** Skills that have all these words. Without it: all. */
  query?: string | null;
  /** Also these, beside the active ones: disabled, expired, retired. */
  include?: SkillStatus[];
  /**
   * Maximum of skills.
   * @default 100
   */
  limit?: number;
}

/** Whether a skill is offered. */
export type SkillStatus = "active" | "disabled" | "expired" | "retired";

/**
 * The runtime skills of a subject that match, the last changed first. `left_out` matched beyond the limit.
 *
 * `total`, `active`, `disabled`, `expired` and `retired` count those that the view shows, whatever was asked for;
 * `withheld` those that it does not show.
 */
export interface SkillsPage {
  skills: ListedSkill[];
  total: number;
  active: number;
  disabled: number;
  retired: number;
  withheld: number;
  /** @default 0 */
  expired?: number;
  /** @default 0 */
  left_out?: number;
}

/**
 * A runtime skill in short; `withheld` says why its words are missing. `item` is the id that `memory` knows it by.
 *
 * `state` says how far a reader may rely on it, `confidence` is from 0 to 1. `updated_ms` is when it last changed.
 */
export interface ListedSkill {
  name: string;
  item: string;
  position: number;
  status: SkillStatus;
  enabled: boolean;
  state: EvidenceState;
  confidence: number;
  revision: number;
  recorded_ms: number;
  updated_ms: number;
  evidence_count: number;
  title?: string | null;
  topic?: string | null;
  summary?: string | null;
  withheld?: Reason | null;
}

export interface ShowSkillRequest {
  /** Subject of the skill. */
  subject: string;
  /** Name of the skill, as `runtime_skill__deploy`. */
  name: string;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
}

/**
 * A runtime skill with its procedure, its evidence, what was known under its name before, and its history.
 *
 * Without a skill, `missing` says why the view shows none.
 */
export interface SkillDetail {
  skill?: ListedSkill | null;
  procedure?: string | null;
  citations?: ShownEvidence[];
  lineage?: FormerSkill[];
  revisions?: ItemRevision[];
  missing?: Reason | null;
}

/** What was known under the name before: the item, when it was recorded, and why it went out of use. */
export interface FormerSkill {
  item: string;
  recorded_ms: number;
  retired: Retirement;
  successor?: string | null;
}

export interface EditSkillRequest {
  /** Subject of the skill. */
  subject: string;
  /** Name of the skill, as `runtime_skill__deploy`. */
  name: string;
  /** What to say instead; what is not given stays. */
  edit: EditSkill;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** Revision that was seen; another one is a conflict. Without it: any. */
  expected?: number | null;
}

/** Say a skill in other words; what is not given stays as it is. */
export interface EditSkill {
  type: "edit";
  /** The steps. */
  procedure?: string | null;
  /** Title, for lists. */
  title?: string | null;
  /** What it is about. */
  topic?: string | null;
  /** What it is for, in short. */
  summary?: string | null;
}

export interface EnableSkillRequest {
  /** Subject of the skill. */
  subject: string;
  /** Name of the skill, as `runtime_skill__deploy`. */
  name: string;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

export interface DisableSkillRequest {
  /** Subject of the skill. */
  subject: string;
  /** Name of the skill, as `runtime_skill__deploy`. */
  name: string;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

export interface RetireSkillRequest {
  /** Subject of the skill. */
  subject: string;
  /** Name of the skill, as `runtime_skill__deploy`. */
  name: string;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

export interface RestoreSkillRequest {
  /** Subject of the skill. */
  subject: string;
  /** Name of the skill, as `runtime_skill__deploy`. */
  name: string;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

export type MountedRequest = Record<string, never>;

export interface RegisterToolsRequest {
  /** All tools of the registry, without schemas. */
  snapshot: RegistrySnapshot;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

/** The tools of a host, all of them. `owner` is the subject that the registry belongs to, or the host. */
export interface RegistrySnapshot {
  /** Id of the registry. */
  registry: string;
  /** Namespace of its tools. */
  namespace: string;
  /** Whose it is. */
  owner: string;
  /** Fingerprint of the whole registry. */
  fingerprint: string;
  /** Its tools. */
  tools: ToolDescription[];
  /**
   * What it is for.
   * @default "owner"
   */
  scope?: RegistryScope;
  /** A note, for `raw_owner` alone. */
  note?: string | null;
}

/** A tool of a host: ids, fingerprints and tags, and no schema. */
export interface ToolDescription {
  /** Id of the tool. */
  tool: string;
  /** Fingerprint of its schema. */
  schema_fingerprint: string;
  /** What people call it. */
  display_name?: string | null;
  /** Its version. */
  version?: string | null;
  /** Fingerprint of its description. */
  descriptor_fingerprint?: string | null;
  /** Tags of what it may do. */
  permissions?: string[];
  /** Tags of what may go wrong. */
  risks?: string[];
  /** Groups that it is in. */
  groups?: string[];
  /**
   * Whether the host does not offer it.
   * @default false
   */
  disabled?: boolean;
}

/** What became of a registry: `revision` counts its snapshots and removals. A repeat changes nothing. */
export interface RegistryReport {
  changed: boolean;
  registry: string;
  revision: number;
  position: number;
  /** @default 0 */
  tools?: number;
}

export interface ListRegistriesRequest {
  /**
   * Maximum of registries.
   * @default 100
   */
  limit?: number;
}

export interface ShowRegistryRequest {
  /** Id of the registry. */
  registry: string;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
}

/** A registry with its tools, in the order of their ids; names and the note as far as the view shows them. */
export interface RegistryDetail {
  registry: ListedRegistry;
  tools: ToolDescription[];
  note?: string | null;
}

export interface RemoveRegistryRequest {
  /** Id of the registry. */
  registry: string;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

export interface ToolFeedbackRequest {
  /** Subject whose memory keeps the experience. */
  subject: string;
  /** What was observed, and in which turns. */
  feedback: ToolFeedback;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
}

/** What was observed of tools of a registry in some turns. */
export interface ToolFeedback {
  /** The registry that the host had. */
  registry: RegistryReference;
  /** What was observed. */
  observations: ObservedOutcome[];
  /** Turns that show it. */
  evidence: ItemSource[];
  /** What the user got to see, in short. */
  visible_result?: string | null;
  /** What became of a hint that was followed. */
  reuse?: ReuseOutcome | null;
  /** Remark of the operator, for `raw_owner` alone. */
  note?: string | null;
}

/** What was observed of a tool: a short summary, never a raw result, a secret or a schema. */
export interface ObservedOutcome {
  /** Id of the tool. */
  tool: string;
  /** Whether it did what was asked. */
  outcome: ToolOutcome;
  /** What was observed, in short. */
  summary: string;
}

/** Whether a tool did what was asked of it. */
export type ToolOutcome = "failed" | "succeeded";

/** What became of a hint that was followed. */
export type ReuseOutcome = "helped" | "misled";

/** What became of feedback, tool by tool; `changed` counts the tools of which there is experience now. */
export interface FeedbackReport {
  dry_run: boolean;
  changed: number;
  tools: ToolVerdict[];
}

/**
 * What became of what was observed of a tool: what was decided, why, and the item that has the experience.
 *
 * `observations` are all that count by now. `position` is that of the event, also where an observation is only kept
 * until it is repeated.
 */
export interface ToolVerdict {
  tool: string;
  decision: Ruling;
  reason: string;
  changed: boolean;
  item?: string | null;
  position?: number | null;
  observations?: Observations;
}

/** How often a tool did what was asked of it, and how often it did not; what became of hints that were followed. */
export interface Observations {
  /** @default 0 */
  succeeded?: number;
  /** @default 0 */
  failed?: number;
  /** @default 0 */
  helped?: number;
  /** @default 0 */
  misled?: number;
}

export interface ToolHintsRequest {
  /** Subject whose experience is asked for. */
  subject: string;
  /**
   * View that decides what is shown.
   * @default "model_context"
   */
  view?: View;
  /** Registries that the host has. Without any: all that are there. */
  registries?: RegistryReference[];
}

/**
 * Hints, the surest first; without any, `reason` says why.
 *
 * `registries` are named registries that the host has not, as it seems; `without` are tools with experience that gives
 * no hint. `withheld` counts the experience that the view does not show.
 */
export interface ToolHints {
  hints: ToolHint[];
  withheld: number;
  reason?: HintRefusal | null;
  registries?: RegistryProblem[];
  without?: WithheldHint[];
}

/**
 * What experience says of a tool. It authorises nothing: the host decides and executes.
 *
 * `text` is what was observed last, as far as the view shows it; it is text from outside.
 */
export interface ToolHint {
  tool: string;
  registry: string;
  fingerprint: string;
  schema_fingerprint: string;
  reason: HintReason;
  confidence: number;
  observations: Observations;
  item: string;
  position: number;
  permissions?: string[];
  risks?: string[];
  groups?: string[];
  text?: string | null;
  host_execution_required: boolean;
}

/** Why a tool is hinted at. */
export type HintReason = "repeated_failure" | "repeated_success";

/** A tool that gives no hint, and why. */
export interface WithheldHint {
  registry: string;
  tool: string;
  reason: HintRefusal;
}

export interface TransitionRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** What to do with the turns. */
  transition: Transition;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** Id of the turn. Without it: all turns that the conversation has now. */
  turn?: string | null;
}

/** A requested change of the phase of turns; the header of its event names it in `reason`. */
export type Transition = "archive" | "erase" | "mask" | "restore" | "unmask";

/**
 * What a request did. `clipped`: lists were cut at a limit or budget; the counts are whole.
 *
 * It is about `conversation`, `subject` or `whole_space`; what is about several conversations lists them. Host
 * references and derived references are those that the views of the caller show. `kept_turns` were to be erased and
 * are not, `kept` says why; `affected_items` and `kept_items` count memory items, `memory_items` are the ids of those
 * that go because they rest on nothing else, or are experience with tools of `registries`. These are the tool
 * registries that go with their owner, `kept_registries` those that a hold keeps. `unreadable_turns` do not open any
 * more and were left alone, because nobody can tell whether they belong to the scope. `holds` and `policies` are
 * listed by a review: those in force that concern the scope; likewise `refused`, the erasures that were asked for and
 * refused, the newest first.
 */
export interface LifecycleReport {
  conversation?: ConversationKey | null;
  subject?: string | null;
  whole_space?: string | null;
  transition: Action;
  changed: boolean;
  affected_turns: number;
  turns: string[];
  messages: string[];
  host_refs: HostReference[];
  host_refs_redacted: number;
  items: RedactionItem[];
  derived_refs: DerivedRef[];
  derived_refs_total: number;
  /** @default 0 */
  derived_refs_redacted?: number;
  clipped: boolean;
  /** @default "" */
  reason?: string;
  /** @default "" */
  requester?: string;
  /** @default 0 */
  requested_ms?: number;
  /** @default 0 */
  affected_items?: number;
  /** @default 0 */
  kept_turns?: number;
  /** @default 0 */
  kept_items?: number;
  /** @default 0 */
  unreadable_turns?: number;
  conversations?: AffectedConversation[];
  memory_items?: string[];
  registries?: string[];
  kept_registries?: string[];
  kept?: KeptTurn[];
  holds?: HoldInForce[];
  policies?: RetentionInForce[];
  refused?: RefusedErasure[];
  position?: number | null;
  receipt?: ErasureReceipt | null;
  budget_applied?: BudgetApplied[];
}

/** What a lifecycle event can do to turns: every `Transition` and `Custody`. */
export type Action = "archive" | "erase" | "hold" | "mask" | "release" | "restore" | "unmask";

/** An item of memory that was derived from turns that a change concerns; somebody may want to decide about it. */
export interface DerivedRef {
  position: number;
  plane: LinkedPlane;
  key: string;
  subject: string;
  citation: string;
}

/** The plane of an item that a reference links, as reports about turns name it: as memory does, where it can. */
export type LinkedPlane =
  | "archive_evidence"
  | "long_term"
  | "private_garden"
  | "runtime_skill"
  | "shared_fact"
  | "soul_candidate_handoff"
  | "tool_experience";

/** What of a conversation a request affects, where it is about several. */
export interface AffectedConversation {
  channel: string;
  conversation: string;
  affected_turns: number;
  turns: string[];
}

/**
 * A turn whose words stay, and one thing that keeps it: a hold, or the policy with its legal minimum.
 *
 * `position` is that of the event; a turn that several holds keep is listed once for each. `turn` is absent where the
 * turn does not open any more.
 */
export interface KeptTurn {
  sequence: number;
  rule: Rule;
  position: number;
  reason: string;
  requester: string;
  turn?: string | null;
  keep_until_ms?: number | null;
  channel?: string | null;
  conversation?: string | null;
}

/** A reason to keep or erase the content of a turn. */
export type Rule = "default" | "erase_request" | "hold" | "legal_minimum" | "retention";

/** A hold of a turn (`first` is `last`), of a conversation (no `last`), of a subject, or of the space (no names). */
export interface HoldInForce {
  position: number;
  reason: string;
  requester: string;
  requested_ms: number;
  channel?: string | null;
  conversation?: string | null;
  first?: number | null;
  last?: number | null;
  subject?: string | null;
}

/** A retention policy in force: of a conversation, a channel (no conversation) or the space (neither). */
export interface RetentionInForce {
  position: number;
  reason: string;
  requester: string;
  channel?: string | null;
  conversation?: string | null;
  keep_at_least_ms?: number | null;
  erase_after_ms?: number | null;
}

/**
 * An erasure that was asked for and refused: of `kept_turns` turns between `first` and `last`, or of the space.
 *
 * `kept_by` has the positions of the holds and policies that kept them then.
 */
export interface RefusedErasure {
  position: number;
  requester: string;
  reason: string;
  requested_ms: number;
  kept_turns: number;
  kept_by: number[];
  conversation?: ConversationKey | null;
  first?: number | null;
  last?: number | null;
  message?: number | null;
  subject?: string | null;
  leaf?: string | null;
  proof?: string | null;
}

export interface EraseRequest {
  /** What to erase: exactly one thing. */
  scope: Scope;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Of an erasure: also memory items that rest on nothing else.
   * @default false
   */
  with_memory?: boolean;
}

/**
 * What a request is about: exactly one of `conversation`, `subject` and `whole_space`.
 *
 * Of a conversation (`channel`: the default one) all turns, one `turn`, or one `message` by its id. `subject`: every
 * turn whose subject, acting subject or mounted subject it is, and every memory item about it. `whole_space` is the
 * name of the open space, repeated.
 */
export interface Scope {
  /** Id of the conversation. */
  conversation?: string | null;
  /** Channel of the conversation. Without it: the default channel. */
  channel?: string | null;
  /** Id of the turn. Without it: all turns that the conversation has now. */
  turn?: string | null;
  /** Id of a message, or <turn>#<number> for short, counted from 0. */
  message?: string | null;
  /** All turns with this subject, acting subject or mounted subject, and its memory items. */
  subject?: string | null;
  /** Everything in the open space; repeat the name of the space here. */
  whole_space?: string | null;
}

export interface ReviewRequest {
  /** The transition or hold to preview. */
  action: Action;
  /** What it is about: exactly one thing. */
  scope: Scope;
  /**
   * Of an erasure: also memory items that rest on nothing else.
   * @default false
   */
  with_memory?: boolean;
}

export interface HoldRequest {
  /** What to hold: exactly one thing. */
  scope: Scope;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

export interface ReleaseRequest {
  /** Position of the hold in the log. */
  hold: number;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
}

export interface RetainRequest {
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** Channel that the policy is about. Without it: the whole space. */
  channel?: string | null;
  /** Conversation that the policy is about; needs the channel. */
  conversation?: string | null;
  /** Milliseconds since the commit before which nothing is erased. */
  keep_at_least_ms?: number | null;
  /** Milliseconds since the commit after which retention erases. */
  erase_after_ms?: number | null;
}

/** The policies that are in force now, and whether that changed. */
export interface RetentionPolicies {
  changed: boolean;
  policies: RetentionInForce[];
  position?: number | null;
}

export interface ApplyRetentionRequest {
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Why; recorded. At most 4,096 bytes.
   * @default "expired"
   */
  reason?: string;
  /**
   * Only report what would be done.
   * @default false
   */
  dry_run?: boolean;
  /** Maximum of turns to erase. Without it: all that are due. */
  limit?: number | null;
}

/**
 * What retention did, or (`dry_run`) what it would do. `clipped`: the lists were cut at the limit, not the counts.
 *
 * `due_turns` have expired and nothing keeps them, `left_turns` of them were left for another time by the limit.
 * `kept_turns` are due and kept, `kept` says by what. `unreadable_turns` do not open any more, and nobody can tell how
 * old they are. There is a receipt for each batch.
 */
export interface RetentionReport {
  dry_run: boolean;
  changed: boolean;
  due_turns: number;
  erased_turns: number;
  left_turns: number;
  kept_turns: number;
  unreadable_turns: number;
  clipped: boolean;
  conversations: AffectedConversation[];
  kept: KeptTurn[];
  policies: RetentionInForce[];
  receipts?: ErasureReceipt[];
}

export interface ReceiptsRequest {
  /** The conversation. */
  conversation: ConversationKey;
}

/**
 * Everything that was asked of the turns of a conversation, in log order, each with its proof.
 *
 * `refused` are erasures that were asked for and that a hold or a legal minimum kept from happening.
 */
export interface Receipts {
  entries: LifecycleEntry[];
  refused?: RefusedErasure[];
}

/**
 * A transition, hold or release that the log has: of the turns `first` to `last`.
 *
 * Without `last` also of the turns that were still to come. `message`: of this message of the turn alone, counted from
 * 0. `hold` is the position of the hold that a release ended. `subject` is there when it was asked of all turns of a
 * subject. `with_memory`: memory items that rest on nothing else were to go along.
 */
export interface LifecycleEntry {
  position: number;
  leaf: string;
  transition: Action;
  first: number;
  last?: number | null;
  message?: number | null;
  hold?: number | null;
  subject?: string | null;
  with_memory?: boolean | null;
  reason: string;
  requester: string;
  requested_ms: number;
  content_left: number;
  proof: string;
}

export interface CertificateRequest {
  /** Position of the erasure, as its report or receipt names it. */
  position: number;
  /**
   * Lines for programs, or a page for people that carries the same lines.
   * @default "jsonl"
   */
  format?: EvidenceFormat;
}

/** The format of evidence: lines for programs, or a page for people that carries the same lines. */
export type EvidenceFormat = "html" | "jsonl";

export interface CheckpointRequest {
  /** RFC 3161 authority that stamps the checkpoint. Without it: that of the settings, if any. */
  timestamp_url?: string | null;
}

/**
 * A signed checkpoint of the head: what it says, the note, and the public key that verifies it.
 *
 * `timestamps` are those in the note, which are checked when the note is verified. `cosignatures` are those in it of
 * the witnesses that were asked; they were verified, and their times are the word of the witness.
 */
export interface CheckpointReport {
  origin: string;
  size: number;
  root: string;
  note: string;
  vkey: string;
  timestamps?: Timestamp[];
  cosignatures?: Cosigned[];
}

/**
 * That a checkpoint of `size` events existed at a time, by the word of an authority.
 *
 * `checked`: proved with a certificate that the caller trusts, and `authority` is the name in it. Otherwise the time
 * is only claimed.
 */
export interface Timestamp {
  size: number;
  time: string;
  checked: boolean;
  authority: string;
}

/** A cosignature that was verified: whose, and when it was made by the word of the witness. */
export interface Cosigned {
  witness: string;
  time_s: number;
}

export interface ProveRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** Id of the turn. */
  turn: string;
  /**
   * View that decides what is shown.
   * @default "export"
   */
  view?: View;
}

export interface ExportEvidenceRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /**
   * View that decides what is shown.
   * @default "export"
   */
  view?: View;
  /**
   * Record the export first, so that the bundle proves it is complete.
   * @default true
   */
  certified?: boolean;
  /** Who receives it; recorded. */
  recipient?: string | null;
  /** What it is for; recorded. */
  purpose?: string | null;
  /**
   * Lines for programs, or a page for people that carries the same lines.
   * @default "jsonl"
   */
  format?: EvidenceFormat;
  /**
   * First event of the conversation to export, counted from 1.
   * @default 1
   */
  first_event?: number;
  /** Last event to export. Without it: the last of the conversation. */
  last_event?: number | null;
}

/**
 * What a file proved: that these events are in the log, unchanged, with these values disclosed.
 *
 * `form` is `bundle`, `receipt` or `certificate`; `page`: it came as a page for people, and the page says exactly what
 * is proved. `export` says what a bundle shows (its view, who exported it), `certified` that the log recorded this.
 * `complete`: no event of the streams up to the checkpoint is absent; `as_of_ms` is then the time of its last event,
 * by the word of the log. Nothing speaks of events after its checkpoint. `masks`, `redactions` and `erasures` count
 * events, `erased_turns` and `erased_messages` what was erased, `withheld` fields that are not disclosed. A timestamp
 * is `checked` when the certificate that was given proves it. `statement` is what an erasure certificate states beside
 * its proof. `entries` are the proved events as a person reads them, when they were asked for.
 */
export interface VerificationReport {
  form: string;
  origin: string;
  size: number;
  root: string;
  view: string;
  events: number;
  disclosed: number;
  withheld: number;
  masks: number;
  redactions: number;
  erasures: number;
  erased_turns: number;
  streams: VerifiedStream[];
  complete: boolean;
  export?: Record<string, unknown>;
  /** @default false */
  certified?: boolean;
  /** @default false */
  page?: boolean;
  as_of_ms?: number | null;
  /** @default 0 */
  erased_messages?: number;
  /** @default "" */
  key?: string;
  /** @default 1 */
  key_version?: number;
  signers?: SignerReport[];
  timestamps?: Timestamp[];
  statement?: Record<string, unknown> | null;
  entries?: Entry[];
}

/** One stream of a verified bundle: its events from `first` to `last`. */
export interface VerifiedStream {
  stream: number;
  events: number;
  turns: number;
  first: number;
  last: number;
  complete: boolean;
}

/**
 * A successor among the signing keys: its version and fingerprint, its origin, and where it took over.
 *
 * That is after the first `size` events, whose root is `root`. `life`: with it began another life of the log.
 */
export interface SignerReport {
  version: number;
  key: string;
  origin: string;
  size: number;
  root: string;
  life: boolean;
}

/** One proved event as a person reads it. `fields` are the disclosed values by label, as they were committed. */
export interface Entry {
  position: number;
  stream: number;
  kind: string;
  time: string;
  turn: number | null;
  title: string;
  said: Utterance[];
  facts: [string, string][];
  withheld: number;
  fields: Record<string, unknown>;
}

/**
 * One message: who said it and what of it is disclosed. `state` is `shown`, `withheld` or `erased`.
 *
 * `hidden` counts the parts of a shown message that are not disclosed.
 */
export interface Utterance {
  who: string;
  text: string;
  state: string;
  /** @default 0 */
  hidden?: number;
}

export interface AuditRequest {
  /** Public key of the only log to audit. Without it: every log, with the key that it declares. */
  vkey?: string | null;
  /** Checkpoint that somebody kept: only its log is audited. */
  checkpoint?: string | null;
  /** Certificate in PEM that you trust for timestamps: of the authority or of one above it. */
  timestamp_certificate?: string | null;
}

/** Every log that was audited; one that is not sound raises instead. */
export interface AuditedSpaces {
  spaces: SpaceAudit[];
}

/**
 * One log that was audited and found sound. The key is the one that the log declares, unless one was given.
 *
 * `erasures` counts events, `erased_turns` and `erased_messages` what they erased. `against` says what the log is to
 * the checkpoint that was given. `pin` is what the log is to the pins
 * outside the store. `timestamps` are those of its checkpoints, and of the one that was given.
 */
export interface SpaceAudit {
  origin: string;
  signed_by: string;
  key_version: number;
  events: number;
  streams: number;
  turns: number;
  checkpoints: number;
  root: string;
  key: string;
  erasures: number;
  erased_turns: number;
  /** @default 0 */
  erased_messages?: number;
  pin?: AgainstPins | null;
  against?: AgainstCheckpoint | null;
  signers?: SignerReport[];
  timestamps?: Timestamp[];
}

/**
 * What a log that is sound in itself is to the pins outside the store.
 *
 * `unpinned`: no place knows the log, so that an older copy of it would not be noticed.
 */
export type AgainstPins = "diverges" | "extends" | "rolled_back" | "unpinned";

/** What a log is to a checkpoint that somebody kept; one that is behind it or diverges from it raises instead. */
export type AgainstCheckpoint = "extends" | "same";

export interface DisclosuresRequest {
  /** This conversation only. Without it: the whole space. */
  conversation?: ConversationKey | null;
  /**
   * Disclosures per page; above 0.
   * @default 50
   */
  limit?: number;
  /** Next cursor of the page before. Without it: the first page. */
  cursor?: string | null;
}

/** A page of disclosures, the oldest first. `next_cursor` is absent on the last page. */
export interface Disclosures {
  disclosures: DisclosureEntry[];
  has_more: boolean;
  next_cursor?: string | null;
}

/**
 * One disclosure, or one that was refused.
 *
 * `export.issued`: `conversation`, or what is remembered of `subject` in `plane`, up to its event `through`, under the
 * view in `views`, to `recipient` for `purpose`.
 * `content.exported`: the same by another `way`: a bundle, a document, the receipt of `turn`, or a backup of the log
 * up to the position `through`. `archive.exported`: the conversations of `scope`, with private material or without.
 * `content.revealed`: `turn` or one `message` of it, to `requester` for `reason`, whose access had `views`.
 * `context.issued`: turns `first` to `last` of `conversation` as it was at its event `through`, and messages quoted of
 * the turns at the positions in `quoted`, under the view in `views`; a conversation that was not there has no name.
 * `content.read`: `turns` of them were returned by `operation` under the view in `views`: of `conversation` those
 * between `first` and `last`, and those at the positions in `found`.
 * `access.denied`: `operation` for want of `right`, perhaps by `policy`, `attempts` times since `since_ms`.
 * `erasure.refused`: turns `first` to `last` of `conversation` (or the space) to `requester` for `reason`; the events
 * at `kept_by` kept them. `approval.set`: `acts` take two persons. `approval.requested`: `requester` asked for
 * `operation`; `approval.decided`: the request at `approval` was `decision` by `requester`.
 * `subject` is the one that the access spoke for; of an export, the only one whose turns it had.
 */
export interface DisclosureEntry {
  position: number;
  kind: EventKind;
  at_ms: number;
  conversation?: ConversationKey | null;
  plane?: MemoryPlane | null;
  through?: number | null;
  turn?: string | null;
  sequence?: number | null;
  message?: number | null;
  way?: string | null;
  views?: string[];
  turns?: number | null;
  first?: number | null;
  last?: number | null;
  quoted?: number[];
  found?: number[];
  tokens?: number | null;
  scope?: ArchiveScope | null;
  private?: PrivateMaterial | null;
  recipient?: string | null;
  purpose?: string | null;
  requester?: string | null;
  reason?: string | null;
  operation?: string | null;
  right?: string | null;
  policy?: string | null;
  subject?: string | null;
  attempts?: number | null;
  since_ms?: number | null;
  kept_by?: number[];
  acts?: string[];
  approval?: number | null;
  decision?: string | null;
}

/** The kinds of event that this release knows. */
export type EventKind =
  | "access.denied"
  | "alias.recorded"
  | "approval.decided"
  | "approval.requested"
  | "approval.set"
  | "archive.exported"
  | "archive.imported"
  | "attr.recorded"
  | "content.exported"
  | "content.read"
  | "content.revealed"
  | "context.issued"
  | "conversation.opened"
  | "erasure.refused"
  | "export.issued"
  | "item.recorded"
  | "item.retired"
  | "item.revised"
  | "key.rotated"
  | "memory_policy.set"
  | "notebook.opened"
  | "policy.set"
  | "ref.derived"
  | "run.recorded"
  | "signer.announced"
  | "space.erased"
  | "space.opened"
  | "space.restored"
  | "tools.registered"
  | "tools.removed"
  | "turn.committed"
  | "turn.lifecycle"
  | "turn.redacted";

/** A scope and its names: `subject` for a subject's part, `channel` and `conversation` for one conversation. */
export interface ArchiveScope {
  /** What part of the space. */
  kind: ScopeKind;
  /** The mounted subject, for the part of a subject. */
  subject?: string | null;
  /** Channel of the conversation, for one conversation. */
  channel?: string | null;
  /** Id of the conversation, for one conversation. */
  conversation?: string | null;
}

/** A part of a space. Each conversation belongs to exactly one subject's part, or to the shared part. */
export type ScopeKind = "conversation" | "shared" | "subject";

/** Whether an archive contains private material: content, aliases, attributes and derived references together. */
export type PrivateMaterial = "exclude" | "include";

export interface LinksRequest {
  /** The memory item. */
  memory?: MemoryKey | null;
  /** The conversation, instead of a memory item. */
  conversation?: ConversationKey | null;
  /** Id of a turn of the conversation. Without it: the whole conversation. */
  turn?: string | null;
  /**
   * Links per page; above 0.
   * @default 50
   */
  limit?: number;
  /** Next cursor of the page before. Without it: the first page. */
  cursor?: string | null;
}

/** Names an item of memory: its plane and its key there. */
export interface MemoryKey {
  /** Plane of a memory item; needs key. */
  plane: Plane;
  /** Key of the item in its plane. */
  key: string;
}

/** The part of a host's memory that contains an item. */
export type Plane =
  | "archive_evidence"
  | "long_term"
  | "private_garden"
  | "procedural_skill"
  | "shared_fact"
  | "soul_candidate_handoff"
  | "task_learning";

/** A page of links, in the order of their creation. `links_redacted` of all are of planes that no view shows. */
export interface LinkPage {
  links: Link[];
  has_more: boolean;
  /** @default 0 */
  links_redacted?: number;
  next_cursor?: string | null;
  budget_applied?: BudgetApplied[];
}

/**
 * A derived reference. `verified`: its turns are there and give the recorded digest.
 *
 * `from_archive`: it came with an archive, without a digest, since the leaves of its turns are others here. Nothing
 * proves it until it is recorded again.
 */
export interface Link {
  position: number;
  plane: Plane;
  key: string;
  subject: string;
  source: SourceEvidence;
  citation: string;
  created_ms: number;
  digest: string;
  verified: boolean;
  state: SourceState;
  /** @default false */
  from_archive?: boolean;
}

/**
 * The source of a derivation: a turn, the turns from `turn` to `through`, or a message.
 *
 * `message` is the id of a message of the turn, `subject` the turn's subject, `authority` that of the message.
 */
export interface SourceEvidence {
  space: string;
  channel: string;
  conversation: string;
  turn: string;
  through?: string | null;
  message?: string | null;
  subject?: string | null;
  authority?: Authority | null;
}

/**
 * What is left of a source: how many turns it has and in which phase they are.
 *
 * `messages_erased` counts messages of the source that were erased alone, `redactions` those that withhold something
 * of it from one view or another.
 */
export interface SourceState {
  turns: number;
  /** @default 0 */
  active?: number;
  /** @default 0 */
  archived?: number;
  /** @default 0 */
  masked?: number;
  /** @default 0 */
  erased?: number;
  /** @default 0 */
  messages_erased?: number;
  /** @default 0 */
  redactions?: number;
}

export interface ExplainTurnRequest {
  /** Id of the turn or of a message of it, or its position in the log. */
  turn: string;
  /** Its conversation. Needed where others have a turn of this id. */
  conversation?: string | null;
  /** Its channel. Needed where others have such a conversation. */
  channel?: string | null;
}

/**
 * Everything about one turn.
 *
 * `history` is what happened to it, `received` who received it, both in the order of the log; `contexts` are recorded
 * prompts that included or quoted it, `memory` the items that were derived from it; `memory_redacted` counts those
 * that the access does not show. `left_out` names the parts that the access does not include, `clipped` those of which
 * only the newest entries are listed.
 */
export interface Explanation {
  conversation: ConversationKey;
  turn: string;
  sequence: number;
  position: number;
  phase: Phase;
  committed_ms: number;
  views: ExplainedView[];
  proof: TurnProof;
  history?: HistoryEntry[];
  received?: DisclosureEntry[];
  contexts?: DisclosureEntry[];
  memory?: FedMemory[];
  /** @default 0 */
  memory_redacted?: number;
  left_out?: string[];
  clipped?: string[];
}

/** The turn as a view shows it, and an item for everything that the view withholds. */
export interface ExplainedView {
  view: View;
  turn: SliceTurn;
  items: RedactionItem[];
}

/**
 * Where the turn is in the tree: its leaf, and whether it is under the newest signed checkpoint.
 *
 * `included`: the inclusion was computed and holds. `pinned`: a checkpoint outside the store covers it, too. A turn
 * that no checkpoint covers yet is signed by `evidence checkpoint`, or when the store is closed.
 */
export interface TurnProof {
  position: number;
  leaf: string;
  included: boolean;
  pinned: boolean;
  checkpoint_size?: number | null;
  checkpoint_root?: string | null;
}

/**
 * An event that is about the turn: `action` is what it did, or the code of its reason.
 *
 * `first` to `last` are the turns that it was about, `message` the one message, `hold` the hold that a release ended.
 */
export interface HistoryEntry {
  position: number;
  kind: string;
  at_ms: number;
  action?: string | null;
  first?: number | null;
  last?: number | null;
  message?: number | null;
  hold?: number | null;
  views?: string[];
  attribute?: string | null;
  attribute_key?: string | null;
  requester?: string | null;
  reason?: string | null;
  subject?: string | null;
}

/** An item of memory that was derived from the turn, or from the turns `first` to `last` with it. */
export interface FedMemory {
  position: number;
  plane: Plane;
  key: string;
  subject: string;
  created_ms: number;
  first: number;
  last?: number | null;
  message?: number | null;
}

export interface InspectRequest {
  /** This conversation only. Without it: the whole space. */
  conversation?: ConversationKey | null;
  /**
   * Maximum of findings to list; the counts are complete.
   * @default 100
   */
  limit?: number;
}

/**
 * What was inspected and what is wrong. `findings` are cut at the limit (`clipped`); every count is whole.
 *
 * `fail_closed`: there is a finding, so rely on nothing that rests on what was inspected. `kinds` counts the findings
 * by kind. Without `conversation` the whole space was inspected; then `pinned` says whether a checkpoint is kept
 * outside the store. `items` counts the entries of notebooks, `erasures` the requests that erased something;
 * `erased_turns` are without content now, `erased_messages` are those that were erased alone.
 */
export interface InspectionReport {
  events: number;
  turns: number;
  items: number;
  attributes: number;
  derived_refs: number;
  erasures: number;
  erased_turns: number;
  erased_messages: number;
  lookups: number;
  fail_closed: boolean;
  findings_total: number;
  clipped: boolean;
  findings: Finding[];
  kinds: Record<string, number>;
  checkpoints?: number | null;
  projections?: number | null;
  conversation?: ConversationKey | null;
  pinned?: boolean | null;
  budget_applied?: BudgetApplied[];
}

/** One thing that is wrong: its kind, its position, stream and label, and the problem in one word. */
export interface Finding {
  kind: FindingKind;
  position?: number | null;
  stream?: number | null;
  label?: string | null;
  problem?: string | null;
  found?: number | null;
}

/** What is wrong. */
export type FindingKind =
  | "attribute_malformed"
  | "attribute_oversized"
  | "attribute_target_missing"
  | "chain_broken"
  | "checkpoint_mismatch"
  | "commitment_mismatch"
  | "content_damaged"
  | "content_left"
  | "content_missing"
  | "corrupt_record"
  | "duplicate_item"
  | "duplicate_sequence"
  | "duplicate_turn"
  | "event_missing"
  | "event_uncounted"
  | "event_unreadable"
  | "head_mismatch"
  | "head_missing"
  | "header_mismatch"
  | "hold_missing"
  | "item_malformed"
  | "keys_damaged"
  | "keys_missing"
  | "lookup_dangling"
  | "lookup_mismatch"
  | "lookup_missing"
  | "mismatched_source_digest"
  | "mismatched_source_key"
  | "mismatched_source_subject"
  | "missing_source_message"
  | "missing_source_turn"
  | "orphan_cells"
  | "orphan_reference"
  | "projection_mismatch"
  | "record_damaged"
  | "record_unknown"
  | "redaction_target_missing"
  | "reference_missing"
  | "rolled_back"
  | "slot_in_use_twice"
  | "target_missing"
  | "tree_mismatch"
  | "unattested";

export interface RevealRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /** Id of the turn. */
  turn: string;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /** A message of the turn, counted from 0. Without it: the whole turn. */
  message?: number | null;
}

/**
 * Words that were revealed, and the position of the event that says so.
 *
 * `turn` shows everything that is not erased, as if it were not masked and nothing of it redacted; its phase is the
 * real one. `items` name the messages that are erased.
 */
export interface Revealed {
  position: number;
  turn: SliceTurn;
  items: RedactionItem[];
  reason: string;
  requester: string;
  requested_ms: number;
}

export interface ListApprovalsRequest {
  /**
   * Maximum of requests to list; above 0.
   * @default 50
   */
  limit?: number;
}

/** The rule in force and the newest requests. `clipped`: there are older ones. */
export interface ApprovalList {
  rule: ApprovalRuleInForce;
  approvals: ApprovalEntry[];
  /** @default false */
  clipped?: boolean;
}

/** Which acts take two persons, and how long a request waits. Without `position` no rule was ever set. */
export interface ApprovalRuleInForce {
  changed: boolean;
  acts: GuardedAct[];
  /** @default 0 */
  within_ms?: number;
  position?: number | null;
}

/** What may take a second person. `approvals` is a change of these rules, which takes one where any rule is set. */
export type GuardedAct = "approvals" | "erase" | "reveal";

/** A request for what takes two persons: what for, by whom, until when, and what became of it. */
export interface ApprovalEntry {
  position: number;
  act: GuardedAct;
  state: ApprovalState;
  about: Record<string, string>;
  requester: string;
  reason: string;
  requested_ms: number;
  expires_ms: number;
  subject?: string | null;
  decided_by?: string | null;
  decided_ms?: number | null;
  decided_for?: string | null;
}

/** Where a request stands. */
export type ApprovalState = "confirmed" | "expired" | "pending" | "refused" | "used";

export interface RequireApprovalsRequest {
  /** What takes two persons: erase, reveal. None: nothing. */
  acts: GuardedAct[];
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who requests it; recorded. A name of at most 512 bytes. */
  requester: string;
  /**
   * Milliseconds in which a request is confirmed and used. Default: a day.
   * @default 86400000
   */
  within_ms?: number;
}

export interface ConfirmApprovalRequest {
  /** Position of the request in the log. */
  approval: number;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who decides; recorded. A name of at most 512 bytes. */
  approver: string;
}

/** What was decided about a request; `changed` is false when that had been decided before. */
export interface ApprovalReport {
  changed: boolean;
  approval: ApprovalEntry;
}

export interface RefuseApprovalRequest {
  /** Position of the request in the log. */
  approval: number;
  /** Why; recorded. At most 4,096 bytes. */
  reason: string;
  /** Who decides; recorded. A name of at most 512 bytes. */
  approver: string;
}

export interface TablesQueryRequest {
  /** One SELECT statement of SQLite. */
  sql: string;
  /**
   * View that decides what is shown.
   * @default "host_ui"
   */
  view?: View;
  /** Values of the parameters, such as `:since`. */
  bindings?: Record<string, string | number | null>;
  /**
   * Rows at most; above 0.
   * @default 1000
   */
  limit?: number;
}

/**
 * What a statement selected, as of the first `events` events of the log.
 *
 * `is_cut`: there were more rows than the limit, or more bytes of them than the space allows. Bytes are hexadecimal.
 */
export interface QueryResult {
  columns: string[];
  rows: ((string | number | null)[])[];
  events: number;
  view: View;
  /** @default false */
  is_cut?: boolean;
}

export type DescribeTablesRequest = Record<string, never>;

/** The tables that statements read. */
export interface TableDescriptions {
  tables: TableDescription[];
}

/** A table: what its rows are, and its columns. */
export interface TableDescription {
  name: string;
  summary: string;
  columns: string[];
}

export interface RecordDerivationsRequest {
  /** What was derived from what. */
  derivations: Derivation[];
}

/**
 * That an item of memory was derived from a turn, from the turns `turn` to `through`, or from a message.
 *
 * `key` is the id of the item in its plane, `subject` whose it is; `message` is the id of a message of the turn,
 * `authority` one with which something was said there. Ids outlive the words: nothing that was said belongs into them.
 */
export interface Derivation {
  /** Plane of the memory item. */
  plane: Plane;
  /** Id of the item in its plane. */
  key: string;
  /** Subject of the item; one that a turn of the source names. */
  subject: string;
  /** Conversation of the source. */
  conversation: ConversationKey;
  /** Id of the turn, or of the first turn. */
  turn: string;
  /** Id of the last turn. Without it: one turn. */
  through?: string | null;
  /** Id of a message of the turn. */
  message?: string | null;
  /** An authority with which something was said there. */
  authority?: Authority | null;
}

/** What became of each derivation, in their order; `recorded` of them are new. */
export interface DerivationReport {
  recorded: number;
  references: RecordedDerivation[];
}

/** The position of a reference in the log, how many turns it names, and the digest that is made of their leaves. */
export interface RecordedDerivation {
  plane: Plane;
  key: string;
  position: number;
  changed: boolean;
  turns: number;
  digest: string;
}

export type ListSpacesRequest = Record<string, never>;

/** The spaces of a store, by name. */
export interface SpaceList {
  spaces: string[];
}

/** The format of the items of a file; `auto` detects it from the first item that a format accepts. */
export type Format =
  | "adk"
  | "agents"
  | "anthropic"
  | "auto"
  | "chatgpt"
  | "claude"
  | "langchain"
  | "langgraph"
  | "openai"
  | "otel";

/**
 * What an import did.
 *
 * `complete`: everything that the files say is in the space; no file, line, message or turn was refused, and no file
 * was damaged. `turns_skipped` counts by reason; `messages` says what became of each message, `messages_refused`
 * counts those of lines that were kept. `kept_as_json` counts, by kind, content of a type that is not known and was
 * kept as JSON; `left_out` what was not kept. `clipped`: the lists of refusals were cut, the counts were not.
 * `detection` is as in the report of a commit, for all turns that were committed. `format` is that of the first file
 * that was read.
 */
export interface ImportReport {
  complete: boolean;
  format: Format;
  conversations: number;
  turns_committed: number;
  turns_already_there: number;
  turns_skipped: Record<string, number>;
  lines_read: number;
  lines_kept: number;
  lines_refused: number;
  messages: MessageCounts;
  messages_refused: number;
  kept_as_json: Record<string, number>;
  left_out: Record<string, number>;
  files: ImportedFile[];
  refused_lines: RefusedLine[];
  refused_turns: RefusedTurn[];
  clipped: boolean;
  detection?: Replacements | null;
}

/**
 * What became of the messages that were read; the others add up to `read`.
 *
 * `repeated`: a request repeats its conversation. `blank`: says nothing, in a turn that was committed. `skipped`: in a
 * turn in which nothing is to be kept.
 */
export interface MessageCounts {
  read: number;
  committed: number;
  already_there: number;
  repeated: number;
  blank: number;
  skipped: number;
  refused: number;
}

/** What became of one file. `skipped` or `refused` says why it was not read, `damaged` that its end was missing. */
export interface ImportedFile {
  file: string;
  format?: Format | null;
  skipped?: string | null;
  refused?: string | null;
  /** @default false */
  damaged?: boolean;
  /** @default 0 */
  conversations?: number;
  /** @default 0 */
  lines_read?: number;
  /** @default 0 */
  lines_refused?: number;
  /** @default 0 */
  messages_refused?: number;
  /** @default 0 */
  turns_committed?: number;
  /** @default 0 */
  turns_already_there?: number;
  turns_skipped?: Record<string, number>;
}

/** A line that was not taken, or a message in it, and why; never what it said. `at` leads from the line inwards. */
export interface RefusedLine {
  file: string;
  line: number;
  code: string;
  at?: string | null;
  problem?: string | null;
}

/**
 * A turn that was not committed: where it began in the file, its number in the conversation, and why.
 *
 * For a turn above a limit, `problem` and `limit` say which.
 */
export interface RefusedTurn {
  file: string;
  line: number;
  conversation: string;
  number: number;
  reason: string;
  problem?: string | null;
  limit?: number | null;
}

export interface ExportConversationRequest {
  /** The conversation. */
  conversation: ConversationKey;
  /**
   * Format of the document.
   * @default "markdown"
   */
  format?: ExportFormat;
  /**
   * View that decides what is shown.
   * @default "export"
   */
  view?: View;
}

/** The format of an exported conversation. */
export type ExportFormat = "markdown" | "openai" | "otel";

export type UsageRequest = Record<string, never>;

/** What the open space holds, in numbers. */
export interface Usage {
  space: string;
  log: string;
  events: number;
  conversations: number;
  turns: number;
  messages: number;
  bytes: number;
}

export interface RotateKeysRequest {
  /** The new root key, as in --keys. Without it: rotate the key of the open space. */
  root?: string | null;
}

/** What a rotation did: of the space key (version, segments, versions destroyed) or of the root key (spaces). */
export interface KeysRotated {
  version?: number | null;
  segments_rekeyed?: number | null;
  versions_destroyed?: number | null;
  spaces_rewrapped?: number | null;
}

export interface ReplaceSignerRequest {
  /**
   * Use the key that is kept outside the store, by the signer in MUNIMENT_SIGNER.
   * @default false
   */
  external?: boolean;
}

/**
 * The signing key that was replaced and its successor: their public keys, and how many events the former signed.
 *
 * `version` is the number of the successor among the keys of the log.
 */
export interface SignerReplaced {
  version: number;
  events: number;
  former: string;
  vkey: string;
}

export interface ExportArchiveRequest {
  /** What to export. */
  scope: ArchiveScope;
  /**
   * Whether text, aliases, attributes, memory and registries are included.
   * @default "exclude"
   */
  private?: PrivateMaterial;
  /** Key that seals the files, as in --keys. Without it: the root key of the store. */
  sealed_by?: string | null;
}

/**
 * An archive that was written and read back. `position` is that of the event that says so.
 *
 * `file` is its path, where it has one. `items` counts memory items, `registries` tool registries. `left_out` counts
 * turns whose content is not in it, messages of them and of others, items without their words, and registries, by
 * reason.
 */
export interface ArchiveReport {
  file?: string | null;
  root: ArchiveRoot;
  turns: number;
  items: number;
  registries: number;
  left_out: LeftOutContent[];
  bytes: number;
  position: number;
}

/**
 * What an archive says of itself in its first line.
 *
 * Without `notebooks` it says nothing of memory, and without `registries` nothing of tool registries.
 */
export interface ArchiveRoot {
  schema: string;
  scope: ArchiveScope;
  private: PrivateMaterial;
  documents: number;
  notebooks?: number | null;
  registries?: number | null;
  events: number;
  bytes: number;
  digest: string;
}

/**
 * Content that an archive leaves out for one reason.
 *
 * Whole turns, messages (those of the turns too), items, and tool registries.
 */
export interface LeftOutContent {
  reason: OmissionReason;
  turns: number;
  messages: number;
  /** @default 0 */
  items?: number;
  /** @default 0 */
  registries?: number;
}

/** Why content is not in an archive. */
export type OmissionReason = "erased" | "no_item" | "private" | "soul_governance";

/** An archive that holds to every rule: what it says of itself, and how many turns it holds. */
export interface ArchiveCheck {
  root: ArchiveRoot;
  turns: number;
}

/** `bootstrap` requires that nothing of the scope exists; `restore` replaces what exists. */
export type ImportMode = "bootstrap" | "restore";

/**
 * What an import of an archive did. `first` to `last` are the positions of what came in, absent for nothing.
 *
 * `erased_turns` and `forgotten_items` of the inserted ones came without their words, because they had been erased or
 * forgotten here; `erased_registries` did not come in, for the same reason. The words of the deleted ones are erased;
 * their events stay.
 */
export interface ArchiveImportReport {
  root: ArchiveRoot;
  mode: ImportMode;
  conversations_inserted: number;
  turns_inserted: number;
  conversations_deleted: number;
  turns_deleted: number;
  erased_turns: number;
  position: number;
  /** @default 0 */
  items_inserted?: number;
  /** @default 0 */
  items_deleted?: number;
  /** @default 0 */
  forgotten_items?: number;
  /** @default 0 */
  registries_inserted?: number;
  /** @default 0 */
  registries_deleted?: number;
  /** @default 0 */
  erased_registries?: number;
  first?: number | null;
  last?: number | null;
}

export interface CreateClientRequest {
  /** Name of the client, unique in the store. Without it: that of the gateway user. */
  client?: string | null;
  /**
   * What the key allows.
   * @default {"effects": ["read"], "views": ["host_ui"]}
   */
  scope?: ClientScope;
  /** When the key expires. Without it: never. */
  until_ms?: number | null;
  /** Subject that may use the memory gateway with this key, instead of a scope. */
  gateway_user?: string | null;
}

/** The scope of a client: without anything given, it may read as `host_ui` shows it. */
export interface ClientScope {
  /** What it may do: read, append, reveal, erase, admin. */
  effects?: Effect[];
  /** Views that it may use. */
  views?: View[];
  /** The only subject whose data it may read and write. Without it: all. */
  subject?: string | null;
  /** The only channels that it may use. Without it: all. */
  channels?: string[] | null;
  /** The only operations that it may call: `memory.recall`, `transcripts.*`. Without it: all. */
  operations?: string[] | null;
  /** Requests a minute, with bursts of as many. Without it: no limit. */
  requests_per_minute?: number | null;
}

/** What an operation may do to a store. `reveal` reads content that no view of the caller shows, and records it. */
export type Effect = "admin" | "append" | "erase" | "read" | "reveal";

/** A new key of a client. This is the only time that `key` is shown; the store keeps a digest of it. */
export interface ClientKeyIssued {
  client: string;
  key: string;
  fingerprint: string;
  space: string;
  scope: ClientScope;
  until_ms?: number | null;
  former?: IssuedKey[];
}

/** A key that was issued, by its fingerprint, and the moment until which it opens anything. */
export interface IssuedKey {
  fingerprint: string;
  issued_ms: number;
  until_ms?: number | null;
}

export type ListClientsRequest = Record<string, never>;

/** The clients of a space, by name. */
export interface ClientList {
  clients: ListedClient[];
}

/** A client: what its keys allow, which they are, and the last use, to the minute. */
export interface ListedClient {
  client: string;
  scope: ClientScope;
  created_ms: number;
  keys: IssuedKey[];
  used_ms?: number | null;
}

export interface RotateClientRequest {
  /** Name of the client, unique in the store. */
  client: string;
  /**
   * How long the old key stays valid. 0: not at all.
   * @default 0
   */
  overlap_ms?: number;
  /** When the key expires. Without it: never. */
  until_ms?: number | null;
}

export interface RevokeClientRequest {
  /** Name of the client, unique in the store. */
  client: string;
}

/** A client that is none any more: the fingerprints of its keys, which are no longer valid. */
export interface ClientRevoked {
  client: string;
  fingerprints: string[];
}

export type CapabilitiesRequest = Record<string, never>;

/**
 * What may be done here, under which policies, and within which budget; without a profile there is none.
 *
 * `subject` and `channels` are what the access is kept to; without them it is not.
 */
export interface Capabilities {
  version: string;
  operations: Capability[];
  views: ViewCapability[];
  policies: Policy[];
  budget?: Budget | null;
  subject?: string | null;
  channels?: string[] | null;
}

/**
 * An operation, what it may do, whether it needs the root key, and why it is hidden when it is not visible.
 *
 * `also` lists the rights that it takes beside its effect, for every request or for those that `when` describes.
 * `keeps_to` lists the bounds of an access that it keeps to; an access with another bound is refused.
 */
export interface Capability {
  operation: string;
  effect: Effect;
  visible: boolean;
  needs_key: boolean;
  summary: string;
  also?: SecondRight[];
  keeps_to?: Bound[];
  hidden?: Hidden | null;
  policy?: Policy | null;
}

/**
 * A right that an operation takes beside its effect: another effect, or one of several views.
 *
 * `when` says which requests take it; without it, every one does.
 */
export interface SecondRight {
  effect?: Effect | null;
  views?: View[];
  when?: string | null;
}

/** What an access may be kept to: the turns and items of one subject, or the conversations of some channels. */
export type Bound = "channels" | "subject";

/** Why an operation or a view is not visible: a right is missing, a policy hides it, or the space has a fault. */
export type Hidden = "access" | "policy" | "state";

/** A rule of a deployment about what is hidden or recorded, whatever the rights of a caller. */
export type Policy = "no_debug_replay" | "no_export" | "record_reads";

/** A view, and why it is hidden when it is not visible. */
export interface ViewCapability {
  view: View;
  visible: boolean;
  hidden?: Hidden | null;
  policy?: Policy | null;
}

/**
 * The ceilings in force, None without one; `attributes_per_turn` also applies to a message.
 *
 * `percent` is the remaining share of the figures of the profile, because of `limited_by`.
 */
export interface Budget {
  profile?: Profile | null;
  /** @default 100 */
  percent?: number;
  limited_by?: BudgetCause[];
  page_turns?: number | null;
  host_refs_per_turn?: number | null;
  attributes_per_turn?: number | null;
  redaction_items?: number | null;
  derived_refs?: number | null;
  inspection_findings?: number | null;
  rendered_chars?: number | null;
}

export interface HealthRequest {
  /**
   * Read every event whole, instead of the sample that was read at opening.
   * @default false
   */
  full?: boolean;
}

/**
 * Whether the open space may be trusted. With a `fault` it is open for inspection only.
 *
 * `pinned`: a checkpoint is kept outside the store, so that an older copy of it would be noticed. `unpinned` places
 * for pins held none when the store was opened: it was deleted there, or the place is new.
 * `indexes` are those for searching that this process has in memory. `unknown_kinds` are the events that only a newer
 * release reads: while there are any, this one reads what it knows and writes nothing (`store.newer`). `events_read`:
 * so many events were read whole, keys and content included: a sample, chosen at random when the space was opened, or
 * all of them.
 */
export interface Health {
  space: string;
  sound: boolean;
  events: number;
  pinned: boolean;
  /** @default 0 */
  events_read?: number;
  checkpoint_size?: number | null;
  pinned_size?: number | null;
  /** @default 0 */
  unpinned?: number;
  /** @default 1 */
  key_versions?: number;
  fault?: string | null;
  fault_message?: string | null;
  unknown_kinds?: string[];
  indexes?: IndexStatus[];
}

/**
 * An index in memory: the events in it, the memory that it takes, and the events in its snapshot.
 *
 * `name` tells the index of messages from that of memory items of the same view.
 *
 * `refused`: why an existing snapshot could not be used; it was removed.
 */
export interface IndexStatus {
  name: string;
  view: View;
  events: number;
  memory_bytes: number;
  /** @default 0 */
  snapshot_events?: number;
  /** @default false */
  from_snapshot?: boolean;
  refused?: SnapshotRefusal | null;
}

/** Why a snapshot was not used: it is damaged, its key is retired, or it is of something else. */
export type SnapshotRefusal = "damaged" | "key_retired" | "other";

export type RecoverRequest = Record<string, never>;

/**
 * What a recovery found, completed and derived again. A log that is not sound has nothing derived from it.
 *
 * `pinned`: a checkpoint is kept outside the store.
 */
export interface RecoveryReport {
  sound: boolean;
  events: number;
  pinned: boolean;
  contents_destroyed_again: number;
  rotation_completed: boolean;
  projections: RebuiltProjection[];
}

/** A projection that was forgotten and made again from the log; `unchanged`: it is what it was. */
export interface RebuiltProjection {
  projection: string;
  unchanged: boolean;
  digest: string;
}

export type DoctorRequest = Record<string, never>;

/**
 * What was looked at and what was found. `healthy`: there is no finding, or there are only warnings.
 *
 * Without `with_key` less could be looked at. `checkpoint_age_s` is the time since the last event that is signed was
 * written. Of memory there are counts, where there is any and nothing grave was found: items in use, those of them
 * that need a review, proposals to decide about, and policies that stop what would be remembered. muniment keeps no
 * record of backups.
 */
export interface DoctorReport {
  healthy: boolean;
  with_key: boolean;
  findings: DoctorFinding[];
  space?: string | null;
  events?: number | null;
  pinned?: boolean | null;
  checkpoint_age_s?: number | null;
  items_in_use?: number | null;
  items_to_review?: number | null;
  proposals_open?: number | null;
  policies_stopping?: number | null;
  free_bytes?: number | null;
  model?: string | null;
  settings?: string[];
}

/** What is wrong and what to do next: a sentence with a command. A `warning` is no reason not to use the store. */
export interface DoctorFinding {
  kind: string;
  what: string;
  next: string;
  /** @default false */
  warning?: boolean;
  /** @default 1 */
  count?: number;
  at?: string | null;
}

export interface ReembedRequest {
  /**
   * View whose vectors are completed.
   * @default "host_ui"
   */
  view?: View;
}

/** What became of the vectors of a view: how many passages there are, were embedded now, and are still without. */
export interface Reembedded {
  view: View;
  embedder: string;
  embedder_digest: string;
  passages: number;
  embedded: number;
  pending: number;
}

export type CloseRequest = Record<string, never>;

/** The store is closed. */
export interface Closed {
  closed: boolean;
}

export type Part =
  | TextPart
  | ReasoningPart
  | ToolCallPart
  | ToolCallResponsePart
  | BlobPart
  | FilePart
  | UriPart
  | AttachmentPart;

export type Amendment =
  | CorrectItem
  | RefreshItem
  | MarkItemStale
  | ChangeItemScope
  | ChangeItemPrivacy
  | ChangeItemAudience
  | PinItem
  | SupersedeItem
  | InvalidateItem
  | RestoreItem;

/** Why a request was refused (RFC 9457). Holds no content, no key and no name. */
export interface Problem {
  type: string;
  title: string;
  status: 400 | 401 | 403 | 404 | 405 | 409 | 413 | 421 | 422 | 429 | 431 | 500 | 503 | 507;
  code: ErrorCode;
  kind: ErrorKind;
  message: string;
  at?: string;
  problem?: string;
  limit?: number;
  found?: number;
  choices?: string[];
}

/** What is wrong. */
export type ErrorCode =
  | "access.denied"
  | "access.issuer_unavailable"
  | "access.not_authenticated"
  | "approval.needed"
  | "archive.conflict"
  | "archive.refused"
  | "backup.restore_conflict"
  | "capability.hidden"
  | "client.exists"
  | "client.missing"
  | "cursor.invalid"
  | "cursor.stale"
  | "evidence.missing"
  | "evidence.refused"
  | "evidence.timestamp_unavailable"
  | "evidence.witness_refused"
  | "evidence.witness_unavailable"
  | "extra.missing"
  | "file.taken"
  | "file.unavailable"
  | "key.exposed"
  | "key.invalid"
  | "key.missing"
  | "key.unavailable"
  | "key.wrong"
  | "lifecycle.hold_missing"
  | "log.conflict"
  | "model.invalid"
  | "model.unavailable"
  | "muniment"
  | "request.answer_erased"
  | "request.busy"
  | "request.foreign_space"
  | "request.in_progress"
  | "request.invalid"
  | "request.key_reused"
  | "request.limit_exceeded"
  | "request.not_canonical"
  | "request.not_confirmed"
  | "request.not_served"
  | "request.rate_exceeded"
  | "request.route_missing"
  | "request.streams_exceeded"
  | "server.answer_invalid"
  | "server.unavailable"
  | "signer.unavailable"
  | "signer.wrong"
  | "space.erased"
  | "store.busy"
  | "store.closed"
  | "store.corrupt"
  | "store.fault"
  | "store.former_life"
  | "store.full"
  | "store.missing"
  | "store.newer"
  | "store.read_only"
  | "store.rolled_back"
  | "tables.statement"
  | "tokens.unavailable"
  | "transcript.alias_conflict"
  | "transcript.turn_conflict"
  | "transcript.unknown_conversation"
  | "transcript.unknown_place"
  | "transcript.words_erased";

/** Who can act: the caller, or for `corrupt` and `unavailable` the operator. */
export type ErrorKind = "invalid" | "denied" | "missing" | "conflict" | "corrupt" | "unavailable" | "exhausted";
