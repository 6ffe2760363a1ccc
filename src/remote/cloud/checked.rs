//! What the environment says of servers and credentials, looked at before the library takes it: that panics at what cannot
//! stand in a request. No value is repeated, since each may be a secret.

use crate::error::{Error, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as S3};
use object_store::azure::{AzureConfigKey as Azure, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey as Gcs};

pub(super) fn s3(builder: &AmazonS3Builder) -> Result<()> {
    let of = |key: S3| builder.get_config_value(&key);
    plain("AWS_ACCESS_KEY_ID", of(S3::AccessKeyId))?;
    plain("AWS_SECRET_ACCESS_KEY", of(S3::SecretAccessKey))?;
    plain("AWS_SESSION_TOKEN", of(S3::Token))?;
    plain("AWS_REGION", of(S3::Region))?;
    address("AWS_ENDPOINT_URL", of(S3::Endpoint))?;
    address("AWS_ENDPOINT_URL_S3", of(S3::S3Endpoint))?;
    address("AWS_ENDPOINT_URL_STS", of(S3::StsEndpoint))
}

pub(super) fn gcs(builder: &GoogleCloudStorageBuilder) -> Result<()> {
    address("GOOGLE_BASE_URL", builder.get_config_value(&Gcs::BaseUrl))
}

pub(super) fn azure(builder: &MicrosoftAzureBuilder) -> Result<()> {
    let of = |key: Azure| builder.get_config_value(&key);
    plain("AZURE_STORAGE_ACCOUNT_NAME", of(Azure::AccountName))?;
    plain("AZURE_STORAGE_ACCOUNT_KEY", of(Azure::AccessKey))?;
    plain("AZURE_STORAGE_TOKEN", of(Azure::Token))?;
    address("AZURE_STORAGE_ENDPOINT", of(Azure::Endpoint))
}

/// A word of visible characters.
fn plain(variable: &str, value: Option<String>) -> Result<()> {
    match value.is_some_and(|value| value.is_empty() || !value.bytes().all(|b| b.is_ascii_graphic())) {
        true => Err(Error::new(format!(
            "{variable} is empty, or holds a space, a line's end or another character that cannot be"
        ))
        .help("see how it was set; the value alone belongs there")),
        false => Ok(()),
    }
}

/// The address of a server.
fn address(variable: &str, value: Option<String>) -> Result<()> {
    let fits = |value: &String| {
        let uri = value.parse::<http::Uri>().is_ok_and(|uri| {
            let host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
            host && uri.query().is_none() && matches!(uri.scheme_str(), Some("http" | "https"))
        });
        uri && url::Url::parse(value).is_ok_and(|url| url.has_host())
    };
    match value.as_ref().is_none_or(fits) {
        true => Ok(()),
        false => {
            Err(Error::new(format!("{variable} is no address of a server"))
                .help("write https://HOST or https://HOST:PORT"))
        }
    }
}
