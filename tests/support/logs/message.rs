//! Messages: roles, content blocks, calls and answers, in codebot's shape and in pi's.
//! For the strategies only.

use super::ops::{Block, Content, Extra, Message, Role, Time};
use super::render::{START, Writer};
use super::texts::{CALLS, Fields, ODD, STRANGE, TEXTS, add, add_some, array, nth, object, quoted};

impl Writer {
    pub(super) fn message(&self, message: &Message, time: Time) -> String {
        let codebot = self.is_codebot();
        let mut own = Fields::new();
        let role = match message.role {
            Role::User => Some("\"user\""),
            Role::Assistant => Some("\"assistant\""),
            Role::Tool if codebot => Some("\"tool\""),
            Role::Tool => Some("\"toolResult\""),
            Role::System => Some("\"system\""),
            Role::Bash => Some("\"bashExecution\""),
            Role::Custom => Some("\"custom\""),
            Role::Hook => Some("\"hookMessage\""),
            Role::BranchSummary => Some("\"branchSummary\""),
            Role::CompactionSummary => Some("\"compactionSummary\""),
            Role::Absent => None,
            Role::Odd(0) => Some("\"\\u0075ser\""),
            Role::Odd(odd) => Some(nth(ODD, odd)),
        };
        let content = self.content(&message.content);
        let late = message.extra == Extra::ProviderOnly;
        if late {
            add_some(&mut own, "content", content.clone());
        }
        add_some(&mut own, "role", role.map(str::to_owned));
        if !late {
            add_some(&mut own, "content", content);
        }
        if codebot {
            if message.role == Role::Tool || message.injected {
                self.metadata(&mut own, message);
            }
            if let Time::Good(..) = time {
                add(&mut own, "timestamp", quoted("2026-07-14T09:00:01Z"));
            }
        } else {
            if message.role == Role::Tool {
                let call = CALLS[usize::from(message.answers.unwrap_or(4)) % CALLS.len()];
                add(&mut own, "toolCallId", quoted(call));
                add(&mut own, "isError", "false");
            }
            if message.role == Role::Assistant {
                assistant(&mut own, message.extra);
            }
            match time {
                Time::Good(_, 3) => {}
                Time::Good(minutes, _) => {
                    let millis = START + u64::from(minutes) * 60_000;
                    add(&mut own, "timestamp", millis.to_string());
                }
                Time::Odd(odd) => add(&mut own, "timestamp", nth(ODD, odd)),
            }
        }
        object(&own)
    }

    /// What codebot's tool messages and injected ones carry.
    fn metadata(&self, own: &mut Fields, message: &Message) {
        let call = match (message.answers, message.extra) {
            (None, _) => None,
            (_, Extra::NumberModel) => Some("7".to_owned()),
            (Some(call), _) => Some(quoted(CALLS[usize::from(call) % CALLS.len()])),
        };
        if call.is_none() && message.extra == Extra::None && !message.injected {
            return;
        }
        let mut metadata = Fields::new();
        add_some(&mut metadata, "tool_call_id", call);
        if message.role == Role::Tool {
            add(&mut metadata, "is_error", "false");
        }
        if message.injected {
            add(&mut metadata, "injected", "true");
        }
        add(own, "metadata", object(&metadata));
    }

    pub(super) fn content(&self, content: &Content) -> Option<String> {
        match content {
            Content::Blocks(blocks) => {
                let blocks = blocks.iter().map(|block| self.block(*block));
                Some(array(blocks))
            }
            // codebot's content is always a list.
            Content::Text(at) if self.is_codebot() => Some(array([self.block(Block::Text(*at))])),
            Content::Text(at) => Some(quoted(nth(TEXTS, *at))),
            Content::Null => Some("null".to_owned()),
            Content::Absent => None,
            Content::Odd(0) => Some("\"text\"".to_owned()),
            Content::Odd(1) => Some("[{\"type\":\"text\",\"text\":\"a\"},null]".to_owned()),
            Content::Odd(2) => {
                Some("[{}],\"content\":[{\"type\":\"text\",\"text\":\"last\"}]".to_owned())
            }
            Content::Odd(odd) => Some(nth(ODD, *odd).to_owned()),
        }
    }

    fn block(&self, block: Block) -> String {
        let codebot = self.is_codebot();
        match block {
            Block::Text(at) => format!("{{\"type\":\"text\",\"text\":\"{}\"}}", nth(TEXTS, at)),
            Block::Strange(at) => {
                format!("{{\"type\":\"text\",\"text\":\"{}\"}}", nth(STRANGE, at))
            }
            Block::EmptyText => "{\"type\":\"text\",\"text\":\"\"}".to_owned(),
            Block::Thinking(at) => format!(
                "{{\"type\":\"thinking\",\"thinking\":\"{}\"}}",
                nth(TEXTS, at)
            ),
            Block::Call(at) => {
                let id = CALLS[usize::from(at) % CALLS.len()];
                if codebot {
                    format!(
                        "{{\"type\":\"toolCall\",\"tool_call\":{{\"id\":\"{id}\",\"name\":\"bash\",\"args\":{{}}}}}}"
                    )
                } else {
                    format!(
                        "{{\"type\":\"toolCall\",\"id\":\"{id}\",\"name\":\"bash\",\"arguments\":{{}}}}"
                    )
                }
            }
            Block::Image => {
                "{\"type\":\"image\",\"image\":{\"data\":\"AAAA\",\"mime_type\":\"image/png\"}}"
                    .to_owned()
            }
            Block::ToolReference => {
                "{\"type\":\"tool_reference\",\"tool_name\":\"grep\"}".to_owned()
            }
            Block::ToolUse(at) => format!("{{\"type\":\"tool_use\",\"id\":\"c{at}\"}}"),
            Block::Odd(at) => [
                "{}",
                "{\"type\":\"toolCall\"}",
                "{\"type\":\"toolCall\",\"tool_call\":{\"id\":7}}",
                "{\"type\":\"toolCall\",\"tool_call\":null}",
                "{\"type\":7,\"text\":\"a\"}",
                "{\"type\":\"text\"}",
                "{\"type\":\"text\",\"text\":null}",
                "{\"text\":\"before\",\"type\":\"text\"}",
            ][usize::from(at) % 8]
                .to_owned(),
        }
    }
}

/// What pi's assistant messages carry.
fn assistant(own: &mut Fields, extra: Extra) {
    match extra {
        Extra::None => {}
        Extra::ProviderOnly => add(own, "provider", quoted("alone")),
        Extra::NumberModel => add(own, "model", "7"),
        Extra::Model | Extra::Deferred => {
            add(own, "provider", quoted("p"));
            add(own, "model", quoted("m"));
            let reason = if extra == Extra::Deferred {
                "deferred"
            } else {
                "stop"
            };
            add(own, "stopReason", quoted(reason));
        }
    }
}
