//! What a random log is made of: a list of operations.
//! For the strategies only. Each value stands for a choice, never for text, so that shrinking leads to
//! plain lines.

/// How much an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// What a format's own writer would write.
    Valid,
    /// That, in odd spelling.
    Quirky,
    /// Anything that is still one JSON object a line.
    Wild,
}

/// One line, or for pi v4 a line and the move of the lane before it.
#[derive(Clone, Debug)]
pub struct Op {
    pub what: What,
    pub id: Id,
    pub parent: Parent,
    pub lane: Lane,
    pub seq: Seq,
    pub time: Time,
    pub style: Vec<Style>,
}

/// The kind of a line and its own fields.
#[derive(Clone, Debug)]
pub enum What {
    Message(Message),
    Model {
        provider: Value,
        model: Value,
    },
    Effort(Value),
    OldEffort(Value),
    Name(Value),
    Plan {
        phase: Value,
        slug: Value,
    },
    Goal(Value),
    LlmCall,
    Tools(Value),
    Compaction {
        summary: Value,
        kept: Ref,
        tail: Tail,
    },
    BranchSummary {
        from: Ref,
        summary: Value,
    },
    Custom,
    CustomMessage(Value),
    ContextEdit {
        target: Ref,
        content: Edit,
    },
    Label {
        target: Ref,
        label: Value,
    },
    UsageEntry,
    Unknown(u8),
    /// The whole payload is of another type.
    WrongPayload {
        kind: u8,
        payload: Value,
    },
    // pi v4 only; the other formats store them as unknown kinds.
    MoveLane {
        lane: u8,
        leaf: Ref,
    },
    Record(Record),
    NameFact(Value),
    LabelFact {
        target: Ref,
        label: Value,
    },
    OtherFact,
}

/// Which id a line has.
#[derive(Clone, Copy, Debug)]
pub enum Id {
    Fresh,
    /// That of an earlier line.
    Again(u8),
    /// That of an earlier record, for an entry, and the other way round.
    Other(u8),
    Odd(u8),
}

#[derive(Clone, Copy, Debug)]
pub enum Parent {
    Leaf,
    /// An earlier entry, counted from the newest.
    Back(u8),
    Root,
    Missing,
    Own,
    /// The line after this one.
    Next,
    Odd(u8),
}

#[derive(Clone, Copy, Debug)]
pub enum Lane {
    /// One of those that exist.
    Known(u8),
    /// None, as forked files have it.
    Absent,
    Unknown,
    Odd(u8),
}

#[derive(Clone, Copy, Debug)]
pub enum Seq {
    Next,
    Skip(u8),
    Back(u8),
    Odd(u8),
}

#[derive(Clone, Copy, Debug)]
pub enum Time {
    /// So many minutes after the start, in one of the usual spellings.
    Good(u8, u8),
    Odd(u8),
}

/// A reference to another entry.
#[derive(Clone, Copy, Debug)]
pub enum Ref {
    /// An earlier entry, counted from the newest.
    Back(u8),
    Missing,
    Own,
    Next,
    Null,
    Absent,
    Odd(u8),
}

/// The value of a field that should hold text.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Text(u8),
    Empty,
    Null,
    Absent,
    /// Text that not every parser takes.
    Strange(u8),
    /// Another type.
    Odd(u8),
}

/// What a compaction keeps: codebot's `messages`, pi v4's `retainedTail`.
#[derive(Clone, Debug)]
pub enum Tail {
    Messages(Vec<Message>),
    Null,
    Absent,
    Odd(u8),
}

/// What a context edit puts in place.
#[derive(Clone, Debug)]
pub enum Edit {
    Remove,
    Content(Content),
    Odd(u8),
}

#[derive(Clone, Debug)]
pub struct Message {
    pub role: Role,
    pub content: Content,
    /// The call that a tool's message answers.
    pub answers: Option<u8>,
    pub injected: bool,
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    Tool,
    System,
    Bash,
    Custom,
    Hook,
    BranchSummary,
    CompactionSummary,
    Absent,
    Odd(u8),
}

/// What an assistant's message has beside its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    Model,
    None,
    Deferred,
    ProviderOnly,
    NumberModel,
}

#[derive(Clone, Debug)]
pub enum Content {
    Blocks(Vec<Block>),
    Text(u8),
    Null,
    Absent,
    Odd(u8),
}

#[derive(Clone, Copy, Debug)]
pub enum Block {
    Text(u8),
    Strange(u8),
    EmptyText,
    Thinking(u8),
    Call(u8),
    Image,
    ToolReference,
    ToolUse(u8),
    Odd(u8),
}

#[derive(Clone, Debug)]
pub enum Record {
    Started {
        kind: u8,
        leaf: Ref,
    },
    /// Of the newest started operation, counted back.
    Finished(u8),
    FinishedMissing,
    Abort(u8),
    Step(u8),
    ToolStarted(u8),
    Enqueued,
    Cancelled,
    Deferred(u8),
    Usage(u8),
    Unknown,
}

/// Odd spelling of a line that does not change what it means.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// A field's key with an escape.
    EscapedKey(u8),
    /// A value that is a plain string with an escape.
    EscapedValue(u8),
    /// A field that stands there with another value before.
    RepeatedKey(u8, u8),
    /// The fields in another order.
    Rotated(u8),
    /// White space around the tokens of the envelope.
    Spaced(u8),
    /// A field that nobody knows.
    Extra(u8),
}
