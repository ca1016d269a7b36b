//! The store that an address means, and its credentials: from the environment and the files that the tools of Amazon,
//! Google and Microsoft use.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::multipart::MultipartStore;
use object_store::{BackoffConfig, ObjectStore as Objects, RetryConfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::profile::{Profile, ProfileKeys};
use super::transport::{Transport, is_loopback};
use super::trouble::{Trouble, harmless};
use crate::store::StoreOptions;

/// The functions of the crate's stores that are used.
pub(crate) trait Cloud: Objects + MultipartStore {}

impl<T: Objects + MultipartStore> Cloud for T {}

/// Whose store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Amazon S3, and whatever speaks like it.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

/// The store of `provider` with this bucket, or container.
pub fn open(provider: Provider, bucket: &str, options: &StoreOptions) -> Result<Arc<dyn Cloud>, String> {
    let endpoint = endpoint_variables(provider).iter().find_map(|name| options.variable(name));
    let is_direct = endpoint.and_then(|url| url.parse().ok()).is_some_and(|url| is_loopback(&url));
    let is_emulated = options.variable("AZURE_STORAGE_USE_EMULATOR").is_some();
    let roots = roots(options)?;
    let transport = Transport::new(&roots, is_direct || is_emulated, options.bytes_per_second, options.stall_max)?;
    match provider {
        Provider::S3 => s3(bucket, options, transport),
        Provider::Google => google(bucket, options, transport),
        Provider::Azure => azure(bucket, options, transport),
    }
}

fn endpoint_variables(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::S3 => &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
        Provider::Google => &["GOOGLE_BASE_URL"],
        Provider::Azure => &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"],
    }
}

/// None by the crate: what is asked again, and for how long, is the same for all stores.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, backoff: BackoffConfig::default() }
}

/// An error of the crate over what it was configured with.
fn refused(error: object_store::Error) -> String {
    Trouble::of(&error).to_string()
}

/// The variables that begin with `prefix`, in the crate's spelling.
fn variables<'a, K: std::str::FromStr>(
    options: &'a StoreOptions,
    prefix: &'a str,
) -> impl Iterator<Item = (K, &'a str)> + 'a {
    let ours = options.environment.iter().filter(move |(key, value)| key.starts_with(prefix) && !value.is_empty());
    ours.filter_map(|(key, value)| Some((key.to_ascii_lowercase().parse().ok()?, value.as_str())))
}

fn s3(bucket: &str, options: &StoreOptions, transport: Transport) -> Result<Arc<dyn Cloud>, String> {
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    if keys.iter().filter(|name| options.variable(name).is_some()).count() == 1 {
        return Err("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set".to_owned());
    }
    let mut builder = AmazonS3Builder::new();
    for (key, value) in variables::<AmazonS3ConfigKey>(options, "AWS_") {
        builder = builder.with_config(key, value);
    }
    if options.variable("AWS_REGION").or(options.variable("AWS_DEFAULT_REGION")).is_none() {
        builder = builder.with_region("us-east-1");
    }
    // as with Amazon's tools: keys of the environment, then roles that it names, then files, then the machine's role
    let others = ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE"];
    let others = others.iter().chain(&["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"]);
    if !others.into_iter().any(|name| options.variable(name).is_some()) {
        builder = with_profile(builder, options)?;
    }
    // one request for each deletion: bulk ones need checksums that not all servers take
    let builder = builder.with_config(AmazonS3ConfigKey::DisableBulkDelete, "true").with_bucket_name(bucket);
    let store = builder.with_retry(no_retries()).with_http_connector(transport).build().map_err(refused)?;
    Ok(Arc::new(store))
}

fn with_profile(mut builder: AmazonS3Builder, options: &StoreOptions) -> Result<AmazonS3Builder, String> {
    let profile = Profile::of(options);
    let Some(found) = profile.read()? else {
        return match options.variable("AWS_PROFILE") {
            Some(name) => Err(format!("there is no profile {} in ~/.aws/credentials", harmless(name))),
            None => Ok(builder),
        };
    };
    if let Some(region) = found.region.filter(|_| options.variable("AWS_REGION").is_none()) {
        builder = builder.with_region(region);
    }
    let has_endpoint = endpoint_variables(Provider::S3).iter().any(|name| options.variable(name).is_some());
    if let Some(endpoint) = found.endpoint.filter(|_| !has_endpoint) {
        builder = builder.with_endpoint(endpoint);
    }
    Ok(builder.with_credentials(Arc::new(ProfileKeys::new(profile, found.credential))))
}

fn google(bucket: &str, options: &StoreOptions, transport: Transport) -> Result<Arc<dyn Cloud>, String> {
    let mut builder = GoogleCloudStorageBuilder::new();
    for (key, value) in variables(options, "GOOGLE_") {
        builder = builder.with_config(key, value);
    }
    let builder = builder.with_bucket_name(bucket).with_retry(no_retries()).with_http_connector(transport);
    Ok(Arc::new(builder.build().map_err(refused)?))
}

fn azure(container: &str, options: &StoreOptions, transport: Transport) -> Result<Arc<dyn Cloud>, String> {
    let mut builder = MicrosoftAzureBuilder::new();
    for (key, value) in variables(options, "AZURE_") {
        builder = builder.with_config(key, value);
    }
    if options.variable("AZURE_STORAGE_ACCOUNT_NAME").is_none()
        && options.variable("AZURE_STORAGE_USE_EMULATOR").is_none()
    {
        return Err("AZURE_STORAGE_ACCOUNT_NAME is not set: it says whose container it is".to_owned());
    }
    let builder = builder.with_container_name(container).with_retry(no_retries()).with_http_connector(transport);
    Ok(Arc::new(builder.build().map_err(refused)?))
}

/// The root certificates that the environment names, besides Mozilla's.
fn roots(options: &StoreOptions) -> Result<Vec<CertificateDer<'static>>, String> {
    let named = ["AWS_CA_BUNDLE", "SSL_CERT_FILE"].into_iter().find_map(|name| Some((name, options.variable(name)?)));
    let Some((variable, path)) = named else { return Ok(Vec::new()) };
    let fault = |problem: &dyn std::fmt::Display| format!("{variable}: {path}: {problem}");
    let certificates = CertificateDer::pem_file_iter(Path::new(path)).map_err(|e| fault(&e))?;
    certificates.collect::<Result<_, _>>().map_err(|e| fault(&e))
}
