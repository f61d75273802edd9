//! The own fields of an entry or a record in the making: a JSON object, written key by key in the
//! order of the calls. For the constructors of the formats; whether payloads are JSON is checked
//! when the line is written.

use std::fmt::Display;

/// A JSON object without its closing brace.
pub(super) struct Fields(String);

impl Fields {
    pub(super) fn new() -> Self {
        Self("{".to_owned())
    }

    fn key(mut self, key: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
        self
    }

    /// A text as a JSON string.
    pub(super) fn text(self, key: &str, text: &str) -> Self {
        self.json(key, &string(text))
    }

    /// A value that is JSON already.
    pub(super) fn json(self, key: &str, json: &str) -> Self {
        let mut fields = self.key(key);
        fields.0.push_str(json);
        fields
    }

    /// A number, or `true` or `false`.
    pub(super) fn plain(self, key: &str, value: impl Display) -> Self {
        self.json(key, &value.to_string())
    }

    pub(super) fn text_if(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    pub(super) fn json_if(self, key: &str, json: Option<&str>) -> Self {
        match json {
            Some(json) => self.json(key, json),
            None => self,
        }
    }

    pub(super) fn plain_if(self, key: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.plain(key, value),
            None => self,
        }
    }

    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A text as a JSON string.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Texts as a JSON array of strings.
pub(super) fn strings(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(","))
}
