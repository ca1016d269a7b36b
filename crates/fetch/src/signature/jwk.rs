//! Public keys as others read them: JSON Web Keys, their thumbprints, and the directory with all keys of a bot.
//!
//! ```json
//! {"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqk...","x":"JrQL...","use":"sig","nbf":1712793600}]}
//! ```
//! A key is known by its thumbprint (RFC 7638; for Ed25519 RFC 8037, appendix A.3): the SHA-256 digest of its required
//! members in the order of their names. A directory has several keys while one takes over from another.

use std::time::Duration;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::clock::Time;

/// A public Ed25519 key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    /// The kind of key: `OKP`.
    pub kty: String,
    /// The curve: `Ed25519`.
    pub crv: String,
    /// Identifier of the key: its thumbprint.
    pub kid: String,
    /// The key itself, 32 bytes in Base64 for URLs.
    pub x: String,
    /// Use of the key: `sig`.
    #[serde(rename = "use")]
    pub usage: String,
    /// Time before which the key does not hold, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<u64>,
    /// Time from which the key holds no more, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<u64>,
}

impl Jwk {
    /// The key with these bytes.
    pub(crate) fn of_public_key(bytes: &[u8]) -> Jwk {
        let x = BASE64URL_NOPAD.encode(bytes);
        Jwk {
            kid: thumbprint(&x),
            x,
            kty: "OKP".to_owned(),
            crv: "Ed25519".to_owned(),
            usage: "sig".to_owned(),
            nbf: None,
            exp: None,
        }
    }

    /// True if `signature`, in Base64, is one of `text` by this key.
    pub fn verifies(&self, text: &str, signature: &str) -> bool {
        let (Ok(key), Ok(signature)) = (BASE64URL_NOPAD.decode(self.x.as_bytes()), BASE64.decode(signature.as_bytes()))
        else {
            return false;
        };
        self.is_sound() && UnparsedPublicKey::new(&ED25519, key).verify(text.as_bytes(), &signature).is_ok()
    }

    /// True if the key has expired at `now`.
    pub fn has_ended(&self, now: Time) -> bool {
        self.exp.is_some_and(|end| end <= now.ms() / 1_000)
    }

    /// True if it is a key of this kind, with its own thumbprint as identifier.
    fn is_sound(&self) -> bool {
        self.kty == "OKP" && self.crv == "Ed25519" && self.kid == thumbprint(&self.x)
    }
}

/// The thumbprint of the key that is `x`.
fn thumbprint(x: &str) -> String {
    let members = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{x}\"}}");
    BASE64URL_NOPAD.encode(&Sha256::digest(members))
}

/// All keys of a bot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDirectory {
    /// The keys, the newest one last.
    pub keys: Vec<Jwk>,
}

impl KeyDirectory {
    /// The directory that `json` is; what is wrong with it otherwise.
    pub fn parse(json: &[u8]) -> Result<KeyDirectory, String> {
        let directory: KeyDirectory = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        match directory.keys.iter().find(|key| !key.is_sound()) {
            Some(key) => Err(format!("the key {:?} is no Ed25519 key with its thumbprint as kid", key.kid)),
            None => Ok(directory),
        }
    }

    /// Returns the directory as it is served.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("keys consist of texts and numbers");
        json + "\n"
    }

    /// Adds `key`, which holds from `now` on; keys without an end get theirs `overlap` later; those that ended go.
    pub fn rotate(&mut self, key: &Jwk, now: Time, overlap: Duration) {
        self.keys.retain(|key| !key.has_ended(now));
        for earlier in &mut self.keys {
            earlier.exp.get_or_insert((now + overlap).ms() / 1_000);
        }
        self.keys.push(Jwk { nbf: Some(now.ms() / 1_000), ..key.clone() });
    }
}
