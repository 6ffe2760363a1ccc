//! Buckets, and what a web server shows, as places: blocking calls upon an own runtime.

mod client;
mod fault;
mod fetch;
mod send;
mod watch;

use super::address::Remote;
use super::{Creation, OpenFault, Opened, Patience};
use crate::error::{Error, Result};
use crate::hash::Digest;
use client::Client;
use fault::Asked;
use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{
    Attribute, Attributes, GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
};
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};
use tokio::runtime::Runtime;

/// Where an object's digest is kept.
const SHA256: &str = "sha256";

/// What carries out all calls. Two threads: the work is waiting.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("remote").enable_all().build()
});

/// Carries out one call.
fn block_on<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    match &*RUNTIME {
        Ok(runtime) => runtime.block_on(call),
        Err(e) => Err(Error::new(format!("cannot start what talks to servers: {e}"))),
    }
}

/// A place behind a network.
#[derive(Clone)]
pub(super) struct Cloud {
    remote: Remote,
    patience: Patience,
    /// In place of the environment.
    variables: Option<Arc<[(String, String)]>>,
    /// Made when it is first needed; the same for all folders of one bucket.
    client: Arc<OnceLock<Client>>,
}

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.remote)
    }
}

impl Cloud {
    pub(super) fn new(remote: Remote, patience: Patience, variables: Option<&[(String, String)]>) -> Cloud {
        Cloud { remote, patience, variables: variables.map(Arc::from), client: Arc::default() }
    }

    pub(super) fn join(&self, name: &str) -> Cloud {
        let mut joined = self.clone();
        joined.remote.prefix = self.full(name);
        joined
    }

    /// A name with the place's path before it.
    fn full(&self, name: &str) -> String {
        match (self.remote.prefix.as_str(), name) {
            ("", name) => name.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, name) => format!("{prefix}/{name}"),
        }
    }

    fn key(&self, name: &str) -> Result<Key> {
        Key::parse(self.full(name)).map_err(|e| Error::new(format!("{name:?} can be no object's name: {e}")))
    }

    /// What an error is about.
    fn asked(&self, name: &str) -> Asked<'_> {
        Asked { remote: &self.remote, name: name.to_owned() }
    }

    fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = Client::new(&self.remote, &self.patience, self.variables.as_deref())?;
        Ok(self.client.get_or_init(|| made))
    }

    fn store(&self) -> Result<&dyn ObjectStore> {
        self.client().map(Client::store)
    }

    pub(super) fn writable(&self) -> Result<()> {
        match self.client()? {
            Client::Web(_) => Err(Error::new(format!("{self} is a web server, which is only read"))
                .help("write to a folder, or to a bucket: s3://, gs:// or az://")),
            _ => Ok(()),
        }
    }

    /// The answer to a request for an object; none where it is not there.
    async fn request(&self, name: &str, options: GetOptions) -> Result<Option<GetResult>> {
        match self.store()?.get_opts(&self.key(name)?, options).await {
            Ok(answer) => Ok(Some(answer)),
            Err(e) if fault::is_missing(&e) => Ok(None),
            Err(e) => Err(self.asked(name).failed("read", &e)),
        }
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        block_on(async {
            let Some(answer) = self.request(name, GetOptions::default()).await? else { return Ok(None) };
            let bytes = answer.bytes().await.map_err(|e| self.asked(name).failed("read", &e))?;
            Ok(Some(bytes.to_vec()))
        })
    }

    async fn head(&self, name: &str) -> Result<Option<GetResult>> {
        self.request(name, GetOptions { head: true, ..GetOptions::default() }).await
    }

    pub(super) fn size(&self, name: &str) -> Result<Option<u64>> {
        block_on(async { Ok(self.head(name).await?.map(|answer| answer.meta.size)) })
    }

    pub(super) fn holds(&self, name: &str, digest: Digest, bytes: u64) -> Result<bool> {
        let right = |answer: GetResult| answer.meta.size == bytes && noted(&answer.attributes) == Some(digest);
        block_on(async { Ok(self.head(name).await?.is_some_and(right)) })
    }

    pub(super) fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>> {
        if matches!(self.client()?, Client::Web(_)) {
            return Err(Error::new(format!("{self} is a web server, which cannot say what it holds"))
                .help("name a bucket, or copy what is needed to a folder"));
        }
        block_on(async {
            let key = self.key(prefix)?;
            let store = self.store()?;
            let found = self.again(async || store.list(Some(&key)).try_collect::<Vec<_>>().await).await;
            let found = found.map_err(|e| self.asked(prefix).failed("list", &e))?;
            let own = if self.remote.prefix.is_empty() { String::new() } else { format!("{}/", self.remote.prefix) };
            let name = |key: &Key| key.as_ref().strip_prefix(&own).map(str::to_owned);
            Ok(found.into_iter().filter_map(|object| Some((name(&object.location)?, object.size))).collect())
        })
    }

    pub(super) fn create(&self, name: &str, bytes: &[u8]) -> Result<Creation> {
        self.writable()?;
        let options =
            PutOptions { mode: PutMode::Create, attributes: attributes(Digest::of(bytes)), ..PutOptions::default() };
        let (store, key) = (self.store()?, self.key(name)?);
        block_on(async {
            match self.again(async || store.put_opts(&key, bytes.to_vec().into(), options.clone()).await).await {
                Ok(_) => Ok(Creation::Created),
                Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                    Ok(Creation::There)
                }
                Err(e) => Err(self.asked(name).failed("create", &e)),
            }
        })
    }

    pub(super) fn remove(&self, name: &str) -> Result<()> {
        self.writable()?;
        let (store, key) = (self.store()?, self.key(name)?);
        block_on(async {
            match self.again(async || store.delete(&key).await).await {
                Err(e) if !fault::is_missing(&e) => Err(self.asked(name).failed("remove", &e)),
                _ => Ok(()),
            }
        })
    }

    /// Makes a request again that the client does not repeat by itself, since its first answer may have been a good one that was lost.
    async fn again<T>(&self, mut request: impl AsyncFnMut() -> object_store::Result<T>) -> object_store::Result<T> {
        let mut failures = 0;
        loop {
            match request().await {
                Err(e) if fault::is_broken(&e) && failures < self.patience.retries => {
                    tokio::time::sleep(self.patience.wait(failures)).await;
                    failures += 1;
                }
                end => return end,
            }
        }
    }

    /// Asks for an object from a byte on. The answer may begin at 0 instead.
    async fn from(&self, name: &str, from: u64, etag: Option<&str>) -> object_store::Result<GetResult> {
        let range = (from > 0).then_some(GetRange::Offset(from));
        let options = GetOptions { range, if_match: etag.map(str::to_owned), ..GetOptions::default() };
        let key = Key::parse(self.full(name))?;
        // It was made before: this is called after `client`.
        match self.client.get() {
            Some(client) => client.store().get_opts(&key, options).await,
            None => Err(object_store::Error::NotImplemented {
                operation: "get".to_owned(),
                implementer: "no client".to_owned(),
            }),
        }
    }

    pub(super) fn open(&self, name: &str, from: u64, etag: Option<&str>) -> std::result::Result<Opened, OpenFault> {
        self.client().map_err(OpenFault::Never)?;
        let answer = block_on(async { Ok(self.from(name, from, etag).await) }).map_err(OpenFault::Never)?;
        match answer {
            Ok(answer) => Ok(Opened {
                start: answer.range.start,
                total: answer.meta.size,
                etag: answer.meta.e_tag.clone(),
                body: Box::new(fetch::Body::new(answer)),
            }),
            Err(e) if fault::is_changed(&e) => Err(OpenFault::Changed),
            Err(e) if fault::is_passing(&e) => Err(OpenFault::Again(self.asked(name).failed("read", &e))),
            Err(e) => Err(OpenFault::Never(self.asked(name).failed("read", &e))),
        }
    }
}

/// The digest as an object's metadata.
fn attributes(digest: Digest) -> Attributes {
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::Metadata(SHA256.into()), digest.to_string().into());
    attributes
}

/// The digest that was noted when an object was sent.
fn noted(attributes: &Attributes) -> Option<Digest> {
    Digest::parse(attributes.get(&Attribute::Metadata(SHA256.into()))?.as_ref())
}
