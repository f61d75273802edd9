//! The small decoders one by one, against a plain second reading: strings, times, numbers, ids, and
//! the functions that lay a JSON text out or change one field of it. The first byte picks one.

use leaflog::fuzzing::{self, FORMATS, PARSERS, Tree};
use leaflog::{CreateOptions, Format, MemoryRepository, SessionRepository, format_time};

use super::{Checked, reference, same};

/// How many decoders there are.
pub const COUNT: u8 = 9;

/// Tries the decoder that the first byte picks.
pub fn check(data: &[u8]) -> Checked {
    let (&which, rest) = data.split_first().unwrap_or((&0, &[]));
    let text = String::from_utf8_lossy(rest);
    match which % COUNT {
        0 => string(rest),
        1 => written_time(&text),
        2 => made_time(rest),
        3 => number(&text),
        4 => layout(rest),
        5 => ids(&text),
        6 => spliced(&text),
        7 => title(&text),
        _ => catalog(rest),
    }
}

/// The text between two quotes.
fn string(raw: &[u8]) -> Checked {
    let found = fuzzing::decoded(raw);
    if !raw.contains(&b'\\') {
        same(
            "a string without escapes",
            &&*String::from_utf8_lossy(raw),
            &&*found,
        )?;
    }
    let text = format!("\"{}\"", String::from_utf8_lossy(raw));
    // Only what can stand between quotes is compared; the rest must come to an end.
    match reference::string(&text).filter(|_| reference::value(&text).is_some()) {
        Some(expected) => same("a string", &expected, &found),
        None => Ok(()),
    }
}

/// An object with a time in it.
fn stamped(raw: &str) -> Vec<u8> {
    format!("{{\"timestamp\":{raw}}}").into_bytes()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text as a time.
fn written_time(text: &str) -> Checked {
    let raw = quoted(text);
    for format in FORMATS {
        let expected = reference::time_of(format, &raw);
        same(
            &format!("a time in {format}"),
            &expected,
            &fuzzing::time(format, &stamped(&raw)),
        )?;
    }
    Ok(())
}

/// A number as a time, written and read again.
fn made_time(bytes: &[u8]) -> Checked {
    let mut word = [0; 8];
    word.iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    let number = u64::from_le_bytes(word);
    // 0000-01-01 to 9999-12-31 have four digits a year.
    let (first, last) = (-62_167_219_200_000_i64, 253_402_300_799_999);
    let range = (last - first + 1).cast_unsigned();
    let millis = first + (number % range).cast_signed();
    let text = format_time(millis);
    same(
        "a written time",
        &Some(millis),
        &reference::time(&text, true),
    )?;
    for format in [Format::CodebotV3, Format::PiV3] {
        let read = fuzzing::time(format, &stamped(&quoted(&text)));
        same(&format!("{text} in {format}"), &Some(millis), &read)?;
    }
    // Whatever the number is, it can be written.
    assert!(!format_time(number.cast_signed()).is_empty());
    let text = fuzzing::nanos_text(number);
    let millis = i64::try_from(number / 1_000_000).unwrap_or(0);
    same(&text, &Some(millis), &reference::time(&text, true))?;
    let fraction = match text.trim_end_matches('Z').split_once('.') {
        Some((_, digits)) if digits.ends_with('0') => None,
        Some((_, digits)) => format!("{digits:0<9}").parse().ok(),
        None => Some(0),
    };
    same(
        &format!("the fraction of {text}"),
        &Some(number % 1_000_000_000),
        &fraction,
    )
}

/// A number in each parser, and as a time.
fn number(text: &str) -> Checked {
    let Some(raw) = reference::value(text).filter(|raw| reference::number(raw).is_some()) else {
        return Ok(());
    };
    let expected = reference::number(raw);
    for parser in &PARSERS {
        let line = format!("[{raw}]");
        let Some(read) = (parser.read)(line.as_bytes()) else {
            continue;
        };
        let Some(Tree::List(list)) = read.tree else {
            continue;
        };
        same(parser.name, &expected.as_ref(), &list.first())?;
    }
    for format in FORMATS {
        let expected = reference::time_of(format, raw);
        same(
            &format!("{raw} as a time in {format}"),
            &expected,
            &fuzzing::time(format, &stamped(raw)),
        )?;
    }
    Ok(())
}

/// A text laid out, and without white space.
fn layout(bytes: &[u8]) -> Checked {
    let text = String::from_utf8_lossy(bytes);
    let pretty = fuzzing::pretty(bytes);
    let Some(raw) = reference::value(&text) else {
        // What is no JSON is for people to see as it is, whether or not its bytes are text.
        return same("a text that is no JSON", &&*text, &&*pretty);
    };
    let compact = fuzzing::compact(raw);
    let levels = 64;
    let expected = reference::tree(raw, levels);
    for (what, text) in [("pretty", &pretty), ("compact", &compact)] {
        let Some(raw) = reference::value(text) else {
            return Err(format!("{what}: no JSON any more: {text:?}"));
        };
        same(what, &expected, &reference::tree(raw, levels))?;
        same(
            &format!("compact of {what}"),
            &compact,
            &fuzzing::compact(raw),
        )?;
    }
    if compact.contains(['\n', '\t', '\r']) {
        return Err(format!("white space is left: {compact:?}"));
    }
    Ok(())
}

/// A text as the id of a session.
fn ids(id: &str) -> Checked {
    let is_good = (1..=200).contains(&id.len())
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !id.starts_with(['-', '_', '.'])
        && !id.ends_with(['-', '_', '.']);
    let options = CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::in_folder("/w")
    };
    let made = MemoryRepository::new().create(&options);
    same("whether an id can name a session", &is_good, &made.is_ok())?;
    if let Ok(session) = made {
        let metadata = session.metadata().map_err(|e| e.to_string())?;
        same("the id of a session", &id, &&*metadata.id)?;
    }
    Ok(())
}

/// An object with another parent, and with another number.
fn spliced(text: &str) -> Checked {
    let (seed, object) = text.split_at_checked(1).unwrap_or(("", text));
    let parent = (seed != "0").then_some(seed);
    let is_object = reference::value(object).is_some_and(|raw| raw.starts_with('{'));
    let reparented = fuzzing::reparented(object.as_bytes(), parent);
    let renumbered = fuzzing::renumbered(object.as_bytes(), 7);
    same("whether it is an object", &is_object, &reparented.is_some())?;
    same("whether it is an object", &is_object, &renumbered.is_some())?;
    let members = |bytes: Option<Vec<u8>>| -> Result<Vec<(String, Tree)>, String> {
        let text = String::from_utf8(bytes.unwrap_or_default()).map_err(|e| e.to_string())?;
        let raw = reference::value(&text).unwrap_or_default().to_owned();
        match reference::tree(&raw, 64) {
            Tree::Object(members) => Ok(members),
            _ => Err(format!("no object any more: {text:?}")),
        }
    };
    if !is_object {
        return Ok(());
    }
    let mut expected = members(Some(object.as_bytes().to_vec()))?;
    let all = expected.clone();
    for (key, value) in &mut expected {
        if key == "parentId" {
            *value = parent.map_or(Tree::Null, |id| Tree::Text(id.to_owned()));
        }
    }
    same("with another parent", &expected, &members(reparented)?)?;
    let numbered = all.into_iter().filter(|(key, _)| key != "lane");
    let numbered: Vec<_> = numbered
        .map(|(key, value)| match &*key {
            "seq" => (key, Tree::Whole(7)),
            _ => (key, value),
        })
        .collect();
    same("with another number", &numbered, &members(renumbered)?)
}

/// A text cut to 80 characters.
fn title(text: &str) -> Checked {
    let characters: Vec<char> = text.chars().collect();
    let expected = match characters.get(..77) {
        Some(first) if characters.len() > 80 => first.iter().collect::<String>() + "...",
        _ => text.to_owned(),
    };
    same("a title", &expected, &fuzzing::title(text))
}

/// The archive of a catalog: one that is believed says the same when it is written again.
fn catalog(bytes: &[u8]) -> Checked {
    // As a whole file it has hardly ever a right checksum.
    let _ = fuzzing::catalog(bytes);
    let sealed = fuzzing::sealed_catalog(bytes).ok_or("an empty catalog cannot be written")?;
    let Some((told, again)) = fuzzing::catalog(&sealed) else {
        return Ok(());
    };
    let Some((same_told, same_bytes)) = fuzzing::catalog(&again) else {
        return Err("a catalog that was believed is not when it is written again".to_owned());
    };
    same("a catalog written again", &told, &same_told)?;
    same("its bytes", &again, &same_bytes)
}
