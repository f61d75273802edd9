//! The reading loop: every line in order, every object to the reader of the format, then the whole-file checks.
//! For `Replay` only. It opens no files and knows no payloads.

use super::ReadOptions;
use super::json::Fields;
use super::lines::{self, Content};
use super::log::{Log, Place, Reports, refusal};
use super::v4::Mutations;
use super::{codebot, detect, pi, v4};
use crate::error::{Code, Result};
use crate::model::Format;

/// Reads a log from its first byte to its last. Salvage changes nothing about a log with a header.
pub(super) fn read(bytes: &[u8], options: ReadOptions) -> Result<Log> {
    let headed = ReadOptions {
        salvage: false,
        ..options
    };
    match read_as(bytes, headed) {
        Err(error) if options.salvage && error.code() != Code::Unsupported => {
            read_as(bytes, options)
        }
        read => read,
    }
}

fn read_as(bytes: &[u8], options: ReadOptions) -> Result<Log> {
    let mut reports = Reports::default();
    let mut log = None;
    let mut lines = 0;
    for line in lines::split(bytes) {
        lines += 1;
        let keeps = |object: &str| match &log {
            Some(log) => can_keep(log, object),
            None => detect::can_begin(object, options.salvage),
        };
        match lines::classify(&line, &keeps) {
            Content::Blank => {}
            Content::Nothing(finding) => reports.kept(line.place, finding),
            Content::Skipped(finding) => reports.skipped(line.place, finding),
            Content::Objects(objects, findings) => {
                for finding in findings {
                    reports.kept(line.place, finding);
                }
                for object in objects {
                    if let Err(error) =
                        place_object(&mut log, object, line.place, &mut reports, options)
                    {
                        let reports = reports.sorted();
                        let earlier = refusal(None, &reports).filter(|_| options.strict);
                        return Err(earlier.unwrap_or(error));
                    }
                }
            }
        }
    }
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let Some(mut log) = log else {
        let earlier = refusal(None, &reports.sorted()).filter(|_| options.strict);
        return Err(earlier.unwrap_or_else(|| detect::no_object(size, lines)));
    };
    log.lines = lines;
    log.bytes = size;
    log.report_missing_parents(&mut reports);
    log.report_cycles(&mut reports);
    v4::finish(&log, &mut reports);
    log.reports = reports.sorted();
    if options.strict
        && let Some(error) = refusal(Some(log.format), &log.reports)
    {
        return Err(error);
    }
    Ok(log)
}

/// Reads an object as a line, or as the beginning of the log if nothing came before it.
fn place_object(
    log: &mut Option<Log>,
    object: String,
    place: Place,
    reports: &mut Reports,
    options: ReadOptions,
) -> Result<()> {
    if let Some(log) = log {
        take(log, object, place, reports);
        return Ok(());
    }
    let begun = detect::begin(&object, options.salvage);
    let (format, header) = begun.map_err(|error| error.at_line(place.line, place.offset))?;
    // codebot's header is an entry too; without a header the object is a line like any other.
    let is_line = header.is_none() || format == Format::CodebotV3;
    let log = log.insert(Log::new(format, header.unwrap_or_default()));
    if format.has_lanes() {
        log.mutations = Mutations::begin();
    }
    if is_line {
        take(log, object, place, reports);
    }
    Ok(())
}

fn take(log: &mut Log, object: String, place: Place, reports: &mut Reports) {
    match log.format {
        Format::CodebotV3 => codebot::take(log, object, place, reports),
        Format::PiV1 | Format::PiV2 | Format::PiV3 => pi::take(log, object, place, reports),
        Format::PiV4 => v4::take(log, object, place, reports),
    }
}

fn can_keep(log: &Log, object: &str) -> bool {
    let fields = Fields::of(object);
    match log.format {
        Format::CodebotV3 => codebot::identify(&fields).is_ok(),
        Format::PiV1 | Format::PiV2 | Format::PiV3 => pi::identify(log.format, &fields).is_ok(),
        Format::PiV4 => v4::identify(&fields).is_ok(),
    }
}
