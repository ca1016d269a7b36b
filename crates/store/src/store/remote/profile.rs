//! Keys of the files that Amazon's tools keep: `~/.aws/credentials` and `~/.aws/config`, by profile. They are read
//! again once a minute, since other programs renew keys that hold for some hours.
//!
//! A profile that says how to get keys (a role, a process, single sign-on) instead of having them is refused: then the
//! keys have to come by the environment.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use object_store::aws::AwsCredential;
use object_store::client::CredentialProvider;

use super::trouble::Trouble;
use crate::store::StoreOptions;

const READ_AGAIN: Duration = Duration::from_secs(60);

/// A profile of the files.
#[derive(Clone, Debug)]
pub struct Profile {
    name: String,
    credentials: PathBuf,
    config: PathBuf,
}

/// Credentials and region that a profile has. No secret is ever printed.
pub struct Found {
    /// The keys.
    pub credential: AwsCredential,
    /// The region, where it has one.
    pub region: Option<String>,
    /// Another server than Amazon's, where it has one.
    pub endpoint: Option<String>,
}

impl Profile {
    /// The profile that the environment names, or else the one of the name `default`.
    pub(crate) fn of(options: &StoreOptions) -> Profile {
        let home = PathBuf::from(options.variable("HOME").unwrap_or("/nonexistent"));
        let file = |variable, name| options.variable(variable).map_or(home.join(".aws").join(name), PathBuf::from);
        Profile {
            name: options.variable("AWS_PROFILE").unwrap_or("default").to_owned(),
            credentials: file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            config: file("AWS_CONFIG_FILE", "config"),
        }
    }

    /// Reads it; `None` where the files have no such profile.
    pub(crate) fn read(&self) -> Result<Option<Found>, String> {
        let read = |path: &PathBuf| match std::fs::read_to_string(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            read => read.map_err(|e| format!("cannot read {}: {e}", path.display())),
        };
        let (credentials, config) = (read(&self.credentials)?, read(&self.config)?);
        let in_config = if self.name == "default" { "default".to_owned() } else { format!("profile {}", self.name) };
        let value = |key: &str| value(&credentials, &self.name, key).or_else(|| value(&config, &in_config, key));
        match (value("aws_access_key_id"), value("aws_secret_access_key")) {
            (Some(key_id), Some(secret_key)) => Ok(Some(Found {
                credential: AwsCredential { key_id, secret_key, token: value("aws_session_token") },
                region: value("region"),
                endpoint: value("endpoint_url"),
            })),
            (None, None) => {
                let other = ["credential_process", "role_arn", "sso_session", "sso_start_url", "login_session"];
                match other.into_iter().find(|key| value(key).is_some()) {
                    Some(key) => Err(format!(
                        "the profile {} has {key}, which is not supported: put the keys into AWS_ACCESS_KEY_ID, \
                         AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN (`aws configure export-credentials`)",
                        self.name
                    )),
                    None => Ok(None),
                }
            }
            _ => Err(format!("the profile {} has only one of aws_access_key_id, aws_secret_access_key", self.name)),
        }
    }
}

/// The value of `key` in a section of a file as Amazon's tools write it.
fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut is_inside = false;
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', ';'])) {
        if let Some(head) = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_inside = head.split_whitespace().eq(section.split_whitespace());
        } else if is_inside
            && let Some((found, value)) = line.split_once('=')
            && found.trim() == key
            && !value.trim().is_empty()
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

/// The keys of a profile, read again from time to time.
#[derive(Debug)]
pub(crate) struct ProfileKeys {
    profile: Profile,
    last: Mutex<(Instant, Arc<AwsCredential>)>,
}

impl ProfileKeys {
    /// Makes the keys of `profile`, which was just read.
    pub(crate) fn new(profile: Profile, credential: AwsCredential) -> ProfileKeys {
        ProfileKeys { profile, last: Mutex::new((Instant::now(), Arc::new(credential))) }
    }
}

#[async_trait]
impl CredentialProvider for ProfileKeys {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.elapsed() > READ_AGAIN {
            let gone = || format!("the profile {} is gone", self.profile.name);
            let read = self.profile.read().and_then(|found| found.ok_or_else(gone));
            let found = read.map_err(|detail| object_store::Error::Generic {
                store: "S3",
                source: Box::new(Trouble::NoAnswer(detail)),
            })?;
            *last = (Instant::now(), Arc::new(found.credential));
        }
        Ok(last.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dir: &std::path::Path, name: &str) -> Profile {
        let path = |name| dir.join(name).display().to_string();
        let environment = vec![
            ("AWS_PROFILE".to_owned(), name.to_owned()),
            ("AWS_SHARED_CREDENTIALS_FILE".to_owned(), path("credentials")),
            ("AWS_CONFIG_FILE".to_owned(), path("config")),
        ];
        Profile::of(&StoreOptions { environment, ..StoreOptions::default() })
    }

    #[test]
    fn profiles_are_read_from_both_files() {
        let dir = tempfile::tempdir().unwrap();
        assert!(of(dir.path(), "").read().unwrap().is_none(), "no files");
        let credentials = "# mine\n[default]\naws_access_key_id=AAA\naws_secret_access_key = s=1\n\n\
                           [work]\naws_access_key_id = BBB\naws_secret_access_key = s2\naws_session_token = t2\n\
                           [half]\naws_access_key_id = CCC\n";
        let config = "[default]\nregion = eu-west-1\n[profile work]\ns3 =\n  region = wrong\nregion = us-west-2\n\
                      endpoint_url = http://127.0.0.1:9\n[profile away]\ncredential_process = /bin/keys\n";
        std::fs::write(dir.path().join("credentials"), credentials).unwrap();
        std::fs::write(dir.path().join("config"), config).unwrap();
        let found = of(dir.path(), "").read().unwrap().unwrap();
        assert_eq!((found.credential.key_id.as_str(), found.credential.secret_key.as_str()), ("AAA", "s=1"));
        assert_eq!((found.region.as_deref(), found.endpoint), (Some("eu-west-1"), None));
        let found = of(dir.path(), "work").read().unwrap().unwrap();
        assert_eq!((found.credential.token.as_deref(), found.region.as_deref()), (Some("t2"), Some("us-west-2")));
        assert_eq!(found.endpoint.as_deref(), Some("http://127.0.0.1:9"));
        assert!(of(dir.path(), "nobody").read().unwrap().is_none());
        let error = |name| of(dir.path(), name).read().map(drop).unwrap_err();
        assert!(error("away").contains("credential_process, which is not supported"));
        assert!(error("half").contains("only one of") && !error("half").contains("CCC"));
    }
}
