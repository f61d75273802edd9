//! The kinds of lines under one set of numbers, shared by all formats and stored in sidecars.

/// What a line is. The numbers stand in sidecars: add at the end of a group, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A kind that the format does not define; its name is in the line.
    Other = 0,
    /// codebot's header, the root of its tree.
    Header = 1,
    Message = 2,
    ModelChange = 3,
    /// codebot's reasoning effort, pi's thinking level.
    EffortChange = 4,
    Compaction = 5,
    SessionInfo = 6,
    PlanState = 7,
    GoalState = 8,
    LlmCall = 9,
    BranchSummary = 10,
    Custom = 11,
    CustomMessage = 12,
    ContextEdit = 13,
    Label = 14,
    Usage = 15,
    ActiveTools = 16,
    /// An execution record of a type that the format does not define.
    OtherRecord = 32,
    OperationStarted = 33,
    AbortRequested = 34,
    OperationFinished = 35,
    StepAttempt = 36,
    ToolStarted = 37,
    QueueEnqueued = 38,
    QueueCancelled = 39,
    WriteDeferred = 40,
    UsageRecord = 41,
}

impl Kind {
    pub(super) const ALL: [Self; 27] = [
        Self::Other,
        Self::Header,
        Self::Message,
        Self::ModelChange,
        Self::EffortChange,
        Self::Compaction,
        Self::SessionInfo,
        Self::PlanState,
        Self::GoalState,
        Self::LlmCall,
        Self::BranchSummary,
        Self::Custom,
        Self::CustomMessage,
        Self::ContextEdit,
        Self::Label,
        Self::Usage,
        Self::ActiveTools,
        Self::OtherRecord,
        Self::OperationStarted,
        Self::AbortRequested,
        Self::OperationFinished,
        Self::StepAttempt,
        Self::ToolStarted,
        Self::QueueEnqueued,
        Self::QueueCancelled,
        Self::WriteDeferred,
        Self::UsageRecord,
    ];

    /// The number that stands in a sidecar.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// The kind of a number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Whether it is an execution record and no entry.
    pub(crate) const fn is_record(self) -> bool {
        self.number() >= Self::OtherRecord.number()
    }
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    /// No message, or one without a known role.
    #[default]
    None = 0,
    User = 1,
    Assistant = 2,
    System = 3,
    /// codebot's `tool`, pi's `toolResult`.
    Tool = 4,
    /// pi's `custom`.
    Custom = 5,
    /// pi v2's `hookMessage`, which reads as `custom`.
    Hook = 6,
    /// Any other.
    Other = 7,
}

impl Role {
    /// The role that a message names.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "system" => Self::System,
            "tool" | "toolResult" => Self::Tool,
            "custom" => Self::Custom,
            "hookMessage" => Self::Hook,
            _ => Self::Other,
        }
    }

    /// The role of a number from a sidecar.
    pub(crate) const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::User,
            2 => Self::Assistant,
            3 => Self::System,
            4 => Self::Tool,
            5 => Self::Custom,
            6 => Self::Hook,
            7 => Self::Other,
            _ => Self::None,
        }
    }
}

/// The parts of a conversation's state that an entry can set. Each is one field of a state row in
/// the sidecar, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Model = 0,
    Effort = 1,
    Plan = 2,
    Goal = 3,
    Name = 4,
    Tools = 5,
    Compaction = 6,
}

impl State {
    /// How many there are.
    pub(crate) const COUNT: usize = 7;

    /// The place in a state row.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}
