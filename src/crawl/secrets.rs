//! The values to which the tables of sites refer: passwords, tokens, cookies of files, logins.
//!
//! They are looked up at the start of a crawl and whenever its settings are read again, and are in memory only. A table
//! whose secrets cannot be had is an error then, and not when the first request needs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use data_encoding::BASE64;

use super::CrawlError;
use crate::config::reference::{private_file, refers, resolved};
use crate::config::{Auth, Config, Login, Site};
use crate::contract::{CookieUse, LoginPlan, Message, RequestSettings};
use crate::web::cookies::{FileCookie, netscape};
use crate::web::secret::Secret;
use crate::web::site::TableNumber;
use crate::web::url::CanonicalUrl;

/// The secrets of each table that has any.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    of_tables: BTreeMap<TableNumber, OfTable>,
    /// Cookies of all files.
    pub cookies: Vec<FileCookie>,
}

#[derive(Debug, Default)]
struct OfTable {
    /// Fields of `headers` that refer to something, names in lower case.
    headers: Vec<(String, Secret)>,
    authorization: Option<Secret>,
    logins: Option<Vec<Arc<LoginPlan>>>,
}

impl Secrets {
    /// Looks up everything that the tables of `config` refer to.
    pub(crate) fn of(config: &Config) -> Result<Secrets, CrawlError> {
        let with_secrets = (0..).zip(&config.site).filter(|(_, site)| site.has_secrets());
        let mut secrets = Secrets::default();
        for (number, site) in with_secrets {
            secrets.of_tables.insert(number, OfTable::of(number, site, &mut secrets.cookies)?);
        }
        Ok(secrets)
    }

    pub(crate) fn has(&self, number: TableNumber) -> bool {
        self.of_tables.contains_key(&number)
    }

    /// Gives `request`, made from what holds where `tables` do, the secrets of those that are `confided` to it: of each
    /// setting that of the first table that has the setting, or nothing where that one keeps it to itself.
    pub(crate) fn confide(
        &self,
        config: &Config,
        tables: &[TableNumber],
        confided: &[TableNumber],
        request: &mut RequestSettings,
    ) {
        let first = |has: fn(&Site) -> bool| {
            let number = tables.iter().copied().find(|&number| has(&config.site[usize::from(number)]))?;
            Some((number, self.of_tables.get(&number).filter(|_| confided.contains(&number))))
        };
        if let Some((_, of_table)) = first(|site| site.headers.is_some()) {
            request.fields.retain(|(_, value)| refers(value) != Ok(true));
            request.secrets.extend(of_table.into_iter().flat_map(|own| own.headers.iter().cloned()));
        }
        if let Some((_, Some(own))) = first(|site| site.auth.is_some()) {
            request.secrets.retain(|(name, _)| name != "authorization");
            request.secrets.extend(own.authorization.clone().map(|value| ("authorization".to_owned(), value)));
        }
        if let Some((_, Some(own))) = first(|site| site.login.is_some()) {
            request.logins = own.logins.clone().unwrap_or_default();
        }
        let has_file = confided.iter().any(|&number| config.site[usize::from(number)].cookies_file.is_some());
        // who is let in by name gets cookies that let others in
        let is_let_in = !request.secrets.is_empty() || !request.logins.is_empty() || has_file;
        request.cookies = match request.cookies {
            CookieUse::Off if request.logins.is_empty() && !has_file => CookieUse::Off,
            CookieUse::Kept if !is_let_in => CookieUse::Kept,
            _ => CookieUse::Secret,
        };
    }
}

impl OfTable {
    fn of(number: TableNumber, site: &Site, cookies: &mut Vec<FileCookie>) -> Result<OfTable, CrawlError> {
        let wrong = |key: &str, problem: String| {
            CrawlError::Usage(format!("[[site]] {}: {key}: {problem}", usize::from(number) + 1))
        };
        let look_up = |key: &str, value: &str| resolved(value).map_err(|problem| wrong(key, problem));
        let of_headers = site.headers.iter().flat_map(|headers| &headers.0);
        let referring = of_headers.filter(|(_, value)| refers(value) == Ok(true));
        let headers = referring
            .map(|(name, value)| Ok((name.to_ascii_lowercase(), look_up(&format!("headers.{name}"), value)?)))
            .collect::<Result<_, CrawlError>>()?;
        let authorization = site.auth.as_ref().map(|auth| authorization(auth, &look_up)).transpose()?;
        if let Some(file) = site.cookies_file.as_deref().map(Path::new) {
            let read = private_file(file).and_then(|text| netscape(&text));
            cookies.append(&mut read.map_err(|problem| wrong("cookies_file", problem))?);
        }
        let plan = |login: &Login| plan(login, &wrong, &look_up).map(Arc::new);
        let plans = |logins: &[Login]| logins.iter().map(plan).collect::<Result<Vec<_>, _>>();
        let logins = site.login.as_ref().map(|logins| plans(&logins.0)).transpose()?;
        Ok(OfTable { headers, authorization, logins })
    }
}

type LookUp<'a> = dyn Fn(&str, &str) -> Result<Secret, CrawlError> + 'a;

/// The value of `Authorization`.
fn authorization(auth: &Auth, look_up: &LookUp<'_>) -> Result<Secret, CrawlError> {
    let token = auth.token();
    if !token.is_empty() {
        return Ok(Secret::new(format!("Bearer {}", look_up("auth.bearer", &token)?.expose())));
    }
    let password = look_up("auth.password", &auth.password())?;
    let pair = BASE64.encode(format!("{}:{}", auth.user, password.expose()).as_bytes());
    Ok(Secret::new(format!("Basic {pair}")))
}

fn plan(
    login: &Login,
    wrong: &dyn Fn(&str, String) -> CrawlError,
    look_up: &LookUp<'_>,
) -> Result<LoginPlan, CrawlError> {
    let url = CanonicalUrl::parse(&login.url).map_err(|error| wrong("login.url", error.to_string()))?;
    let (is_json, values) = if login.json.0.is_empty() { (false, &login.fields.0) } else { (true, &login.json.0) };
    let filled = values.iter().map(|(name, value)| {
        let key = format!("login.{}.{name}", if is_json { "json" } else { "fields" });
        // an empty field is sent as such
        let value = if value.is_empty() { Secret::new("") } else { look_up(&key, value)? };
        Ok((name.clone(), value))
    });
    let filled = filled.collect::<Result<Vec<_>, CrawlError>>()?;
    let message = match is_json {
        true => Message::Json(filled),
        false => Message::Form { selector: login.form.clone(), filled },
    };
    Ok(LoginPlan { url, message, success: login.success.clone(), lost: login.lost.clone() })
}
