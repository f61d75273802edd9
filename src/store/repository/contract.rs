//! A folder of sessions as one of the places that the contract speaks of.

use super::{Listing, Repository};
use crate::contract::{CreateOptions, ForkScope, SessionRepository, SessionStorage};
use crate::error::Result;
use crate::store::Session;

fn boxed(session: Session) -> Box<dyn SessionStorage> {
    Box::new(session)
}

impl SessionRepository for Repository {
    fn create(&self, options: &CreateOptions) -> Result<Box<dyn SessionStorage>> {
        Repository::create(self, options).map(boxed)
    }

    fn open(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        Repository::open(self, id).map(boxed)
    }

    fn open_read_only(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        Repository::open_read_only(self, id).map(boxed)
    }

    fn most_recent(&self) -> Result<Option<Box<dyn SessionStorage>>> {
        Ok(Repository::most_recent(self)?.map(boxed))
    }

    fn list(&self) -> Result<Listing> {
        Repository::list(self)
    }

    fn fork(
        &self,
        source: &str,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Box<dyn SessionStorage>> {
        Repository::fork(self, source, scope, options).map(boxed)
    }

    fn delete(&self, id: &str) -> Result<()> {
        Repository::delete(self, id)
    }
}
