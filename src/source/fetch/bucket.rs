//! Pinned files that lie in buckets.

use super::net::{Fault, Opened};
use super::{FetchOptions, first_line};
use crate::remote::{OpenFault, Patience, Place};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// Places by address, so that files of one bucket share what reaches it.
#[derive(Default)]
pub(super) struct Buckets(Mutex<BTreeMap<String, Place>>);

impl Buckets {
    /// Asks for the bytes from `from` on, of the version that `validator` names, if it does.
    pub fn open(&self, options: &FetchOptions, url: &str, from: u64, validator: Option<&str>) -> Result<Opened, Fault> {
        // Pins are read with objects' addresses checked, so there is a name behind the last stroke.
        let (folder, name) = url.rsplit_once('/').unwrap_or((url, ""));
        let place = self.place(options, folder)?;
        match place.open(name, from, validator) {
            Ok(file) => {
                Ok(Opened { body: file.body, start: file.start, total: Some(file.total), validator: file.etag })
            }
            Err(OpenFault::Again(e)) => Err(Fault::Again(first_line(&e), Duration::ZERO)),
            Err(OpenFault::Never(e)) => Err(Fault::Url(e.to_string().replace("\n  ", "; "))),
            Err(OpenFault::Changed) => Err(Fault::Url("416: it is not as long, or was changed meanwhile".to_owned())),
        }
    }

    fn place(&self, options: &FetchOptions, folder: &str) -> Result<Place, Fault> {
        let mut places = self.0.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(place) = places.get(folder) {
            return Ok(place.clone());
        }
        // Tries are counted over all addresses of a file, not here.
        let patience = Patience { stall: options.stall, retries: 0, back_off: options.back_off };
        let place = Place::with(folder, patience, None).map_err(Fault::End)?;
        places.insert(folder.to_owned(), place.clone());
        Ok(place)
    }
}
