//! Work for the pool of threads that Node keeps beside the one that runs JavaScript.

use leaflog::{Error, Result};
use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi::{Env, Task};

use crate::failure::told;

/// Something to do, once.
pub struct Work<T> {
    job: Option<Box<dyn FnOnce() -> Result<T> + Send>>,
}

impl<T: Send + ToNapiValue + TypeName + 'static> Task for Work<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let Some(job) = self.job.take() else {
            return Err(napi::Error::from_reason("the work was done already"));
        };
        job().map_err(|error: Error| told(&error))
    }

    fn resolve(&mut self, _env: Env, done: T) -> napi::Result<T> {
        Ok(done)
    }
}

/// A promise of what the work gives.
pub(crate) fn later<T: Send + ToNapiValue + TypeName + 'static>(
    job: impl FnOnce() -> Result<T> + Send + 'static,
) -> AsyncTask<Work<T>> {
    AsyncTask::new(Work {
        job: Some(Box::new(job)),
    })
}
