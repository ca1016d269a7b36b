//! A verifier of signed requests, written from RFC 9421 and the draft alone: it knows nothing of the signer's code.

use std::collections::HashMap;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, UnparsedPublicKey};

use super::server::Asked;

/// The public keys of a directory, by their thumbprints.
pub struct Keys(HashMap<String, Vec<u8>>);

/// Parameters of a signature that holds.
pub struct Signature {
    pub agent: String,
    pub created: u64,
    pub expires: u64,
    pub nonce: String,
    /// Identifiers of what is covered.
    pub covered: Vec<String>,
}

impl Keys {
    pub fn of(json: &str) -> Keys {
        let directory: serde_json::Value = serde_json::from_str(json).unwrap();
        let keys = directory["keys"].as_array().unwrap().iter().map(|key| {
            assert_eq!((&key["kty"], &key["crv"], &key["use"]), (&"OKP".into(), &"Ed25519".into(), &"sig".into()));
            assert!(key.get("d").is_none(), "a private key is in the directory");
            let x = key["x"].as_str().unwrap();
            let required = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{x}\"}}");
            let thumbprint = BASE64URL_NOPAD.encode(digest(&SHA256, required.as_bytes()).as_ref());
            assert_eq!(key["kid"], thumbprint.as_str());
            (thumbprint, BASE64URL_NOPAD.decode(x.as_bytes()).unwrap())
        });
        Keys(keys.collect())
    }

    #[track_caller]
    pub fn verify(&self, asked: &Asked) -> Signature {
        self.check(asked).unwrap_or_else(|problem| panic!("{problem}: {asked:?}"))
    }

    pub fn check(&self, asked: &Asked) -> Result<Signature, String> {
        let field = |name: &str| asked.field(name).ok_or_else(|| format!("no {name}"));
        let parameters = field("signature-input")?.strip_prefix("sig1=").ok_or("another label")?;
        let (list, rest) = parameters.strip_prefix('(').and_then(|text| text.split_once(')')).ok_or("no list")?;
        let covered: Vec<String> = list.split(' ').map(str::to_owned).collect();
        let mut base = String::new();
        for identifier in &covered {
            base += &format!("{identifier}: {}\n", value(identifier, asked)?);
        }
        base += &format!("\"@signature-params\": {parameters}");
        let parameters: HashMap<&str, &str> =
            rest.trim_start_matches(';').split(';').filter_map(|parameter| parameter.split_once('=')).collect();
        let text = |name: &str| parameters.get(name).map(|value| value.trim_matches('"')).ok_or(format!("no {name}"));
        if (text("tag")?, text("alg")?) != ("web-bot-auth", "ed25519") {
            return Err("another tag or algorithm".to_owned());
        }
        let key = self.0.get(text("keyid")?).ok_or("an unknown key")?;
        let signature = field("signature")?.strip_prefix("sig1=:").and_then(|text| text.strip_suffix(':'));
        let signature = BASE64.decode(signature.ok_or("no bytes")?.as_bytes()).map_err(|error| error.to_string())?;
        let verified = UnparsedPublicKey::new(&ED25519, key).verify(base.as_bytes(), &signature);
        verified.map_err(|_| format!("the signature does not hold for\n{base}"))?;
        let number = |name: &str| text(name)?.parse::<u64>().map_err(|error| error.to_string());
        Ok(Signature {
            agent: field("signature-agent")?.to_owned(),
            created: number("created")?,
            expires: number("expires")?,
            nonce: text("nonce")?.to_owned(),
            covered,
        })
    }
}

/// The value of a component as RFC 9421, section 2, has it.
fn value(identifier: &str, asked: &Asked) -> Result<String, String> {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let agent = asked.field("signature-agent").ok_or("no sender")?;
    Ok(match identifier {
        "\"@authority\"" => asked.authority.to_lowercase(),
        "\"@method\"" => asked.method.clone(),
        "\"@path\"" => path.to_owned(),
        "\"@query\"" => format!("?{query}"),
        "\"@target-uri\"" => format!("http://{}{}", asked.authority, asked.path),
        "\"signature-agent\"" => agent.to_owned(),
        "\"signature-agent\";key=\"sig1\"" => agent.strip_prefix("sig1=").ok_or("no such member")?.to_owned(),
        _ => return Err(format!("unknown component {identifier}")),
    })
}
