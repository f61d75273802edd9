//! Strategies for operations: what is usual, what is odd, how often.
//! For the strategies of whole logs. What comes first in a list is what shrinking leads to.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::ops::{
    Block, Content, Edit, Extra, Freedom, Id, Lane, Message, Op, Parent, Record, Ref, Role, Seq,
    Style, Tail, Time, Value, What,
};

/// Numbers up to 7, small ones more often when shrunk.
fn small() -> impl Strategy<Value = u8> + Clone {
    0_u8..8
}

/// Any operation of the given freedom.
pub fn op(freedom: Freedom) -> BoxedStrategy<Op> {
    let style = match freedom {
        Freedom::Valid => Just(Vec::new()).boxed(),
        Freedom::Quirky => vec(style(), 0..3).boxed(),
        Freedom::Wild => prop_oneof![4 => Just(Vec::new()), 1 => vec(style(), 0..3)].boxed(),
    };
    (
        what(freedom),
        id(freedom),
        parent(freedom),
        lane(freedom),
        seq(freedom),
        time(freedom),
        style,
    )
        .prop_map(|(what, id, parent, lane, seq, time, style)| Op {
            what,
            id,
            parent,
            lane,
            seq,
            time,
            style,
        })
        .boxed()
}

fn what(freedom: Freedom) -> BoxedStrategy<What> {
    let v = value(freedom);
    let r = reference(freedom);
    let usual = prop_oneof![
        12 => message(freedom).prop_map(What::Message),
        2 => (v.clone(), v.clone()).prop_map(|(provider, model)| What::Model { provider, model }),
        1 => v.clone().prop_map(What::Effort),
        1 => v.clone().prop_map(What::OldEffort),
        1 => v.clone().prop_map(What::Name),
        1 => (v.clone(), v.clone()).prop_map(|(phase, slug)| What::Plan { phase, slug }),
        1 => v.clone().prop_map(What::Goal),
        1 => Just(What::LlmCall),
        1 => v.clone().prop_map(What::Tools),
        3 => (v.clone(), r.clone(), tail(freedom))
            .prop_map(|(summary, kept, tail)| What::Compaction { summary, kept, tail }),
        1 => (r.clone(), v.clone())
            .prop_map(|(from, summary)| What::BranchSummary { from, summary }),
        1 => Just(What::Custom),
        1 => v.clone().prop_map(What::CustomMessage),
        2 => (r.clone(), edit(freedom))
            .prop_map(|(target, content)| What::ContextEdit { target, content }),
        2 => (r.clone(), v.clone()).prop_map(|(target, label)| What::Label { target, label }),
        1 => Just(What::UsageEntry),
        1 => small().prop_map(What::Unknown),
    ];
    // pi v4 looks its targets up.
    let known = or(freedom, small().prop_map(Ref::Back), r);
    let of_v4 = prop_oneof![
        2 => (0_u8..4, known.clone()).prop_map(|(lane, leaf)| What::MoveLane { lane, leaf }),
        4 => record(freedom).prop_map(What::Record),
        1 => v.clone().prop_map(What::NameFact),
        1 => (known, v.clone()).prop_map(|(target, label)| What::LabelFact { target, label }),
        1 => Just(What::OtherFact),
    ];
    if freedom == Freedom::Wild {
        let wrong = (0_u8..16, v).prop_map(|(kind, payload)| What::WrongPayload { kind, payload });
        prop_oneof![12 => usual, 4 => of_v4, 1 => wrong].boxed()
    } else {
        prop_oneof![3 => usual, 1 => of_v4].boxed()
    }
}

/// Mostly the first strategy, now and then, if wild, the second.
fn or<T: std::fmt::Debug + Clone + 'static>(
    freedom: Freedom,
    usual: impl Strategy<Value = T> + 'static,
    odd: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    if freedom == Freedom::Wild {
        prop_oneof![9 => usual, 1 => odd].boxed()
    } else {
        usual.boxed()
    }
}

/// Mostly the first strategy, now and then, unless only valid lines are wanted, the second.
fn strange<T: std::fmt::Debug + Clone + 'static>(
    freedom: Freedom,
    usual: impl Strategy<Value = T> + 'static,
    strange: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    if freedom == Freedom::Valid {
        usual.boxed()
    } else {
        prop_oneof![9 => usual, 1 => strange].boxed()
    }
}

fn id(freedom: Freedom) -> BoxedStrategy<Id> {
    let odd = prop_oneof![
        4 => small().prop_map(Id::Again),
        1 => small().prop_map(Id::Other),
        1 => small().prop_map(Id::Odd),
    ];
    or(freedom, Just(Id::Fresh), odd)
}

fn parent(freedom: Freedom) -> BoxedStrategy<Parent> {
    let usual = prop_oneof![
        8 => Just(Parent::Leaf),
        2 => small().prop_map(Parent::Back),
        1 => Just(Parent::Root),
    ];
    let odd = prop_oneof![
        Just(Parent::Missing),
        Just(Parent::Own),
        Just(Parent::Next),
        small().prop_map(Parent::Odd),
    ];
    or(freedom, usual, odd)
}

fn lane(freedom: Freedom) -> BoxedStrategy<Lane> {
    let usual = prop_oneof![
        6 => Just(Lane::Known(0)),
        3 => (0_u8..4).prop_map(Lane::Known),
        1 => Just(Lane::Absent),
    ];
    let odd = prop_oneof![Just(Lane::Unknown), small().prop_map(Lane::Odd)];
    or(freedom, usual, odd)
}

fn seq(freedom: Freedom) -> BoxedStrategy<Seq> {
    let odd = prop_oneof![
        (1_u8..4).prop_map(Seq::Skip),
        (0_u8..4).prop_map(Seq::Back),
        (0_u8..12).prop_map(Seq::Odd),
    ];
    or(freedom, Just(Seq::Next), odd)
}

fn time(freedom: Freedom) -> BoxedStrategy<Time> {
    let usual = (0_u8..60, 0_u8..4).prop_map(|(minutes, spelling)| Time::Good(minutes, spelling));
    or(freedom, usual, any::<u8>().prop_map(Time::Odd))
}

fn value(freedom: Freedom) -> BoxedStrategy<Value> {
    let usual = prop_oneof![
        6 => any::<u8>().prop_map(Value::Text),
        1 => Just(Value::Empty),
        1 => Just(Value::Null),
        1 => Just(Value::Absent),
    ];
    let usual = strange(freedom, usual, any::<u8>().prop_map(Value::Strange));
    or(freedom, usual, any::<u8>().prop_map(Value::Odd))
}

fn reference(freedom: Freedom) -> BoxedStrategy<Ref> {
    let usual = prop_oneof![
        6 => small().prop_map(Ref::Back),
        1 => Just(Ref::Own),
        1 => Just(Ref::Missing),
        1 => Just(Ref::Next),
    ];
    let odd = prop_oneof![
        Just(Ref::Null),
        Just(Ref::Absent),
        small().prop_map(Ref::Odd)
    ];
    or(freedom, usual, odd)
}

fn tail(freedom: Freedom) -> BoxedStrategy<Tail> {
    let usual = prop_oneof![
        4 => vec(message(freedom), 0..4).prop_map(Tail::Messages),
        1 => Just(Tail::Null),
        1 => Just(Tail::Absent),
    ];
    or(freedom, usual, small().prop_map(Tail::Odd))
}

fn edit(freedom: Freedom) -> BoxedStrategy<Edit> {
    let blocks =
        vec(block(freedom), 0..3).prop_map(|blocks| Edit::Content(Content::Blocks(blocks)));
    let text = any::<u8>().prop_map(|text| Edit::Content(Content::Text(text)));
    let usual = prop_oneof![Just(Edit::Remove), blocks, text];
    or(freedom, usual, small().prop_map(Edit::Odd))
}

fn message(freedom: Freedom) -> BoxedStrategy<Message> {
    let role = or(
        freedom,
        prop_oneof![
            4 => Just(Role::User),
            4 => Just(Role::Assistant),
            3 => Just(Role::Tool),
            1 => select(&[
                Role::System,
                Role::Bash,
                Role::Custom,
                Role::Hook,
                Role::BranchSummary,
                Role::CompactionSummary,
                Role::Absent,
            ][..]),
        ],
        small().prop_map(Role::Odd),
    );
    let content = or(
        freedom,
        prop_oneof![
            6 => vec(block(freedom), 0..4).prop_map(Content::Blocks),
            2 => any::<u8>().prop_map(Content::Text),
            1 => Just(Content::Null),
            1 => Just(Content::Absent),
        ],
        small().prop_map(Content::Odd),
    );
    let extra = prop_oneof![
        4 => Just(Extra::Model),
        1 => Just(Extra::None),
        1 => Just(Extra::Deferred),
        1 => Just(Extra::ProviderOnly),
        1 => Just(Extra::NumberModel),
    ];
    let answers = option::weighted(0.8, 0_u8..5);
    (role, content, answers, proptest::bool::weighted(0.1), extra)
        .prop_map(|(role, content, answers, injected, extra)| Message {
            role,
            content,
            answers,
            injected,
            extra,
        })
        .boxed()
}

fn block(freedom: Freedom) -> BoxedStrategy<Block> {
    let usual = prop_oneof![
        5 => any::<u8>().prop_map(Block::Text),
        1 => Just(Block::EmptyText),
        1 => any::<u8>().prop_map(Block::Thinking),
        4 => (0_u8..5).prop_map(Block::Call),
        1 => Just(Block::Image),
        1 => Just(Block::ToolReference),
        1 => (0_u8..5).prop_map(Block::ToolUse),
        1 => small().prop_map(Block::Odd),
    ];
    strange(freedom, usual, any::<u8>().prop_map(Block::Strange))
}

fn record(freedom: Freedom) -> BoxedStrategy<Record> {
    let started =
        (0_u8..3, reference(freedom)).prop_map(|(kind, leaf)| Record::Started { kind, leaf });
    prop_oneof![
        3 => started,
        3 => (0_u8..3).prop_map(Record::Finished),
        1 => Just(Record::FinishedMissing),
        1 => (0_u8..3).prop_map(Record::Abort),
        1 => (0_u8..3).prop_map(Record::Step),
        1 => (0_u8..3).prop_map(Record::ToolStarted),
        1 => Just(Record::Enqueued),
        1 => Just(Record::Cancelled),
        1 => (0_u8..3).prop_map(Record::Deferred),
        3 => or(freedom, 0_u8..5, 5_u8..12).prop_map(Record::Usage),
        1 => Just(Record::Unknown),
    ]
    .boxed()
}

fn style() -> BoxedStrategy<Style> {
    prop_oneof![
        small().prop_map(Style::EscapedKey),
        small().prop_map(Style::EscapedValue),
        (small(), small()).prop_map(|(at, other)| Style::RepeatedKey(at, other)),
        small().prop_map(Style::Rotated),
        small().prop_map(Style::Spaced),
        (0_u8..12).prop_map(Style::Extra),
    ]
    .boxed()
}
