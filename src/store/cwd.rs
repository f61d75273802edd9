//! The working directory of a session, as every store keeps it: absolute, so that it means the same
//! to whoever opens the session.

use std::path::{Component, Path, PathBuf};

use crate::error::{Code, Error, Result};

/// A working directory made absolute without looking at the disk; an empty one is that of the process.
pub(crate) fn absolute(cwd: &str) -> Result<String> {
    if cwd.contains('\0') {
        return Err(Error::new(
            Code::InvalidPayload,
            "expected a working directory, found a NUL character in it, which no path has",
        ));
    }
    let failed = |e| Error::io("find the working directory", Path::new(cwd), e);
    let path = if cwd.is_empty() {
        std::env::current_dir().map_err(failed)?
    } else {
        std::path::absolute(cwd).map_err(failed)?
    };
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Ok(plain.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::absolute;

    #[test]
    fn a_working_directory_is_absolute_and_plain() {
        assert!(absolute("a\0b").is_err());
        assert_eq!(absolute("/a/./b/../c/..").unwrap(), "/a");
        assert!(Path::new(&absolute("").unwrap()).is_absolute());
    }
}
