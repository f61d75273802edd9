//! How a failure reaches JavaScript: as an error whose message is a JSON object, of which `lib/error.ts`
//! makes one with a code.

use leaflog::{Code, Error};
use serde::Serialize;

#[derive(Serialize)]
struct Failure<'e> {
    code: &'static str,
    message: String,
    path: Option<String>,
    line: Option<u64>,
    offset: Option<u64>,
    cause: Option<&'e str>,
}

/// The error as JavaScript is told of it.
pub(crate) fn told(error: &Error) -> napi::Error {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let failure = Failure {
        code: error.code().as_str(),
        message: error.to_string(),
        path: error.path().map(|path| path.display().to_string()),
        line: error.line(),
        offset: error.offset(),
        cause: cause.as_deref(),
    };
    // Of a struct of texts and numbers a JSON text can always be made.
    let reason = serde_json::to_string(&failure).unwrap_or_else(|_| error.to_string());
    napi::Error::from_reason(reason)
}

/// A question that is none: what JavaScript handed in has the wrong shape.
pub(crate) fn misasked(error: &serde_json::Error) -> Error {
    Error::new(
        Code::InvalidPayload,
        format!("what was asked has the wrong shape: {error}"),
    )
}

/// An answer that cannot be told.
pub(crate) fn unanswerable(error: &serde_json::Error) -> Error {
    Error::new(
        Code::InvalidEntry,
        format!("what is stored cannot be told as JSON: {error}"),
    )
}
