//! A store by its address: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` or `file:///directory`.

use std::path::Path;
use std::sync::Arc;

use url::Url;

use super::remote::{Provider, RemoteStore};
use super::{Error, FileStore, ObjectStore, Result, StoreOptions, name};
use crate::web::secret::SecretAddress;

/// The store at `address`. Nothing is asked of it yet: a bucket that is not there, or credentials that are refused, are
/// reported by the first call.
pub fn open(address: &str, options: &StoreOptions) -> Result<Arc<dyn ObjectStore>> {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let is_harmless = !rest.contains(['@', '?', '#']) && !rest.contains(char::is_control);
    let fault =
        |detail: &str| Error::Address { address: SecretAddress::new(address).to_string(), detail: detail.to_owned() };
    if !is_harmless && ["s3", "gs", "az"].contains(&scheme) {
        return Err(fault("it must be a bucket and a prefix alone; credentials come from the environment"));
    }
    let provider = match scheme {
        "file" => return file(address, options).map_err(|detail| fault(&detail)),
        "s3" => Provider::S3,
        "gs" => Provider::Google,
        "az" => Provider::Azure,
        _ => {
            return Err(fault(
                "stores are s3://bucket/name, gs://bucket/name, az://container/name or file:///directory",
            ));
        }
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_end_matches('/');
    let is_bucket = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    if bucket.is_empty() || !bucket.chars().all(is_bucket) {
        return Err(fault("it needs a bucket, or container, behind the ://"));
    }
    if !prefix.is_empty() && !name::is_name(prefix) {
        return Err(fault("what follows the bucket is letters, digits, . _ - and = with / between"));
    }
    let store = RemoteStore::open(provider, bucket, prefix, options).map_err(|detail| fault(&detail))?;
    Ok(Arc::new(store))
}

fn file(address: &str, options: &StoreOptions) -> std::result::Result<Arc<dyn ObjectStore>, String> {
    let wanted = || "a directory is given from the root on: file:///mnt/crawls/name".to_owned();
    let url = Url::parse(address).map_err(|_| wanted())?;
    let is_absolute = address.starts_with("file:///") && url.query().is_none() && url.fragment().is_none();
    let path = url.to_file_path().ok().filter(|path| is_absolute && path != Path::new("/")).ok_or_else(wanted)?;
    Ok(Arc::new(FileStore::real(path, options.bytes_per_second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(environment: &[(&str, &str)]) -> StoreOptions {
        let environment = environment.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        StoreOptions { environment, ..StoreOptions::default() }
    }

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "ID-SECRET"), ("AWS_SECRET_ACCESS_KEY", "KEY-SECRET")];

    #[test]
    fn stores_are_opened_by_their_addresses() {
        let azure = [("AZURE_STORAGE_ACCOUNT_NAME", "me"), ("AZURE_STORAGE_ACCOUNT_KEY", "S0VZLVNFQ1JFVA==")];
        let google = [("GOOGLE_SKIP_SIGNATURE", "true"), ("HOME", "/nonexistent")];
        for (address, environment, shown) in [
            ("s3://bucket/a/b/", &KEYS[..], "s3://bucket/a/b"),
            ("s3://bucket", &KEYS[..], "s3://bucket"),
            ("gs://bucket/a", &google[..], "gs://bucket/a"),
            ("az://container/a", &azure[..], "az://container/a"),
            ("file:///mnt/my%20crawls/name", &[], "file:///mnt/my crawls/name"),
        ] {
            let store = open(address, &options(environment)).unwrap();
            assert_eq!(store.address(), shown);
            assert!(!format!("{store:?} {:?}", options(environment)).contains("SECRET"));
        }
    }

    #[test]
    fn what_is_wrong_with_a_store_is_said_in_plain_words_and_without_secrets() {
        let half = [("AWS_ACCESS_KEY_ID", "ID-SECRET")];
        let profile = [("AWS_PROFILE", "nobody"), ("HOME", "/nonexistent")];
        let bundle = [KEYS[0], KEYS[1], ("AWS_CA_BUNDLE", "/nonexistent/ca.pem")];
        let account = [("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json")];
        for (address, environment, words) in [
            ("bucket/a", &[][..], "stores are s3://bucket/name"),
            ("ftp://host/a", &[], "stores are s3://bucket/name"),
            ("s3:///a", &[], "needs a bucket"),
            ("s3://bucket//a", &KEYS, "what follows the bucket"),
            ("s3://bucket/a b", &KEYS, "what follows the bucket"),
            ("s3://ID-SECRET:KEY-SECRET@bucket/a", &KEYS, "credentials come from the environment"),
            ("file://mnt/crawls", &[], "from the root on"),
            ("file:///", &[], "from the root on"),
            ("s3://bucket/a", &half, "AWS_SECRET_ACCESS_KEY"),
            ("s3://bucket/a", &profile, "no profile nobody"),
            ("s3://bucket/a", &bundle, "/nonexistent/ca.pem"),
            ("az://container/a", &[], "AZURE_STORAGE_ACCOUNT_NAME is not set"),
            ("gs://bucket/a", &account, "/nonexistent/key.json"),
        ] {
            let error = open(address, &options(environment)).map(drop).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(matches!(error, Error::Address { .. }) && told.contains(words), "{address}: {told}");
            assert!(!told.contains("SECRET\"") && !told.contains("-SECRET"), "{told}");
        }
    }
}
