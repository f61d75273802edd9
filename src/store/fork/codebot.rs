//! Forks of codebot: a new header, and the lines of a path or of the whole file as they are. Their
//! parents stay right, since a header's id is always `h0`.

use super::plan::{Plan, plan};
use super::{Copier, Wanted, quoted, splice};
use crate::contract::CreateOptions;
use crate::error::{Code, Error};
use crate::format::{Line, header_line, text_of};
use crate::index::{Answer, Class, Trouble};
use crate::json::{Document, Grammar, Json, Node};
use crate::model::Format;
use crate::snapshot::Source;
use crate::store::publish::Out;
use crate::store::rules::cannot_hold;

pub(super) fn write(
    source: Source<'_>,
    wanted: Wanted<'_>,
    options: CreateOptions,
    out: &mut Out,
) -> Answer<u64> {
    if options.parent.is_some() {
        return Err(cannot_hold(Format::CodebotV3, "place for a parent session").into());
    }
    let plan = plan(source, wanted)?;
    check_root_id(source, &plan)?;
    let mut line = Line::default();
    header_line(
        &mut line,
        Format::CodebotV3,
        wanted.id,
        wanted.nanos,
        &options,
    )?;
    let header =
        named(line.bytes(), source.index.summary.header_name.as_deref()).ok_or(Trouble::Index)?;
    let mut copier = Copier::new(source, out);
    copier.line(&header)?;
    for piece in &plan.pieces {
        if piece.uproot {
            let object = copier.object(piece.slot)?;
            let splices =
                splice::exact(&object, &[], &[("parent_id", "\"h0\"")]).ok_or(Trouble::Index)?;
            copier.splice(&object, &splices)?;
        } else {
            copier.copy(piece.slot)?;
        }
    }
    copier.flush()?;
    Ok(u64::try_from(plan.pieces.len()).unwrap_or(u64::MAX))
}

/// Refuses an entry that bears the header's id without being one: the fork could not hold both.
fn check_root_id(source: Source<'_>, plan: &Plan) -> Answer<()> {
    let Some(slot) = source.index.slot_of(source.log, "h0", Class::Entry)? else {
        return Ok(());
    };
    if plan.pieces.iter().all(|piece| piece.slot != slot) {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidEntry,
        "expected `h0` to be the header, found another entry of this id, which a fork cannot hold beside its \
         own header; fork a path without it",
    )
    .at_path(source.log.path())
    .into())
}

/// A header with the name that the source's header has, where codebot writes it.
fn named(header: &[u8], name: Option<&str>) -> Option<Vec<u8>> {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Some(header.to_vec());
    };
    let document = Grammar::parse(header).ok()?;
    let data = document.root().field("data")?;
    let id = data
        .field("session_id")
        .filter(|id| text_of(Some(*id)).is_some())
        .map(Node::span)?;
    let (before, after) = header.split_at_checked(id.end)?;
    let name = format!(",\"name\":{}", quoted(name));
    Some([before, name.as_bytes(), after].concat())
}
