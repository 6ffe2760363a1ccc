//! The client of a server: how it is reached, and who asks, as the environment says.

use super::super::address::{Remote, Server};
use super::super::{MAX_WAIT, Patience};
use super::fault::Asked;
use super::watch::Watch;
use crate::error::Result;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::azure::{MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder};
use object_store::http::{HttpBuilder, HttpStore};
use object_store::multipart::MultipartStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use std::time::Duration;

/// A request is signed once, and a signature is old after a quarter of an hour.
const SIGNED: Duration = Duration::from_secs(600);

/// What says it in place of the environment.
pub(super) type Variables = [(String, String)];

/// A builder of a store that knows what the environment says, or what is said in its place.
macro_rules! configured {
    ($builder:ty, $variables:expr) => {
        match $variables {
            None => <$builder>::from_env(),
            Some(variables) => variables.iter().fold(<$builder>::new(), |builder, (name, value)| {
                match name.to_ascii_lowercase().parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                }
            }),
        }
    };
}

pub(super) enum Client {
    S3(AmazonS3),
    Gcs(GoogleCloudStorage),
    Azure(MicrosoftAzure),
    Web(HttpStore),
}

impl Client {
    /// Looks at the environment, or at variables in its place: for credentials, regions and addresses of servers, which reach no output.
    /// Opens no socket.
    pub(super) fn new(remote: &Remote, patience: &Patience, variables: Option<&Variables>) -> Result<Client> {
        let retries = retries(patience);
        let watch = Watch { stall: patience.stall };
        let root = remote.root.as_str();
        let made = match remote.server {
            Server::S3 => s3(root, &retries, &watch, variables),
            Server::Gcs => configured!(GoogleCloudStorageBuilder, variables)
                .with_bucket_name(root)
                .with_retry(retries)
                .with_http_connector(watch)
                .build()
                .map(Client::Gcs),
            Server::Azure => configured!(MicrosoftAzureBuilder, variables)
                .with_container_name(root)
                .with_retry(retries)
                .with_http_connector(watch)
                .build()
                .map(Client::Azure),
            Server::Web => HttpBuilder::new()
                .with_url(root)
                .with_client_options(ClientOptions::new().with_allow_http(true))
                .with_retry(retries)
                .with_http_connector(watch)
                .build()
                .map(Client::Web),
        };
        made.map_err(|e| Asked { remote, name: String::new() }.failed("reach", &e))
    }

    pub(super) fn store(&self) -> &dyn ObjectStore {
        match self {
            Client::S3(store) => store,
            Client::Gcs(store) => store,
            Client::Azure(store) => store,
            Client::Web(store) => store,
        }
    }

    /// Uploads in parts that have an id. (Azure keeps parts with the object, and forgets them after a week.)
    pub(super) fn multipart(&self) -> Option<&dyn MultipartStore> {
        match self {
            Client::S3(store) => Some(store),
            Client::Gcs(store) => Some(store),
            Client::Azure(_) | Client::Web(_) => None,
        }
    }
}

fn retries(patience: &Patience) -> RetryConfig {
    let backoff =
        BackoffConfig { init_backoff: patience.back_off, max_backoff: MAX_WAIT.max(patience.back_off), base: 2.0 };
    RetryConfig { backoff, max_retries: patience.retries as usize, retry_timeout: SIGNED }
}

fn s3(
    bucket: &str,
    retries: &RetryConfig,
    watch: &Watch,
    variables: Option<&Variables>,
) -> object_store::Result<Client> {
    let builder = || {
        let builder =
            configured!(AmazonS3Builder, variables).with_bucket_name(bucket).with_http_connector(watch.clone());
        // Credentials are asked of the machine's own network where the environment has none: there is nobody there, or an
        // answer at once.
        builder.with_retry(RetryConfig { max_retries: retries.max_retries.min(1), ..retries.clone() })
    };
    let credentials = builder().build()?.credentials().clone();
    builder().with_retry(retries.clone()).with_credentials(credentials).build().map(Client::S3)
}
