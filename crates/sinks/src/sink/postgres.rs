//! A table of PostgreSQL: a row for each document, with the id as its key.
//!
//! A batch is one transaction of two statements, whatever its size. A connection to another machine has TLS, and the
//! server's certificate is checked, with its name.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fields::{FIELDS, Holds, Value};
use super::http::causes;
use super::settings::Settings;
use super::sql::{columns, quoted, upsert};
use super::{Applied, Batch, Entry, Failure, Sink, tls};
use crate::web::secret::Secret;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Session settings: a statement that takes longer has failed, and the notice that the table is there is not sent.
const SESSION: &str = "SET statement_timeout = '60s'; SET client_min_messages = warning";

/// A table.
pub(super) struct Postgres {
    config: Config,
    /// TLS, where the connection has it.
    tls: Option<MakeRustlsConnect>,
    table: String,
    client: Option<Client>,
}

impl Postgres {
    pub(super) fn new(settings: &Settings, secret: Option<&Secret>) -> Result<Postgres, String> {
        // its error may show a part of the URL
        let mut config: Config =
            settings.url.expose().parse().map_err(|_| "write postgres://user@host:port/database")?;
        if config.get_password().is_some() {
            return Err("no password can be in it".to_owned());
        }
        let is_here = |host: &Host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        };
        let hosts = config.get_hosts();
        if hosts.is_empty() {
            return Err("write postgres://user@host:port/database".to_owned());
        }
        let is_here = hosts.iter().all(is_here) && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let has_tls = !is_here || settings.ca_file.is_some() || config.get_ssl_mode() == SslMode::Require;
        config.ssl_mode(if has_tls { SslMode::Require } else { SslMode::Disable });
        let tls = has_tls.then(|| tls::client(settings.ca_file.as_deref())).transpose()?.map(MakeRustlsConnect::new);
        if !settings.user.is_empty() {
            config.user(&settings.user);
        }
        if let Some(secret) = secret {
            config.password(secret.expose());
        }
        config.application_name("crawler").connect_timeout(CONNECT_TIMEOUT);
        Ok(Postgres { config, tls, table: settings.index.clone(), client: None })
    }

    /// The connection, and the table.
    fn client(&mut self) -> Result<&mut Client, postgres::Error> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            let mut client = match &self.tls {
                Some(tls) => self.config.connect(tls.clone())?,
                None => self.config.connect(NoTls)?,
            };
            let columns = columns(|at| {
                let holds = match FIELDS[at].holds {
                    Holds::Keywords => "text[]",
                    Holds::Time => "timestamptz",
                    Holds::Keyword | Holds::Prose => "text",
                };
                // ids are read back in the order of their bytes
                let key = if at == 0 { " COLLATE \"C\" PRIMARY KEY" } else { "" };
                format!("{} {holds}{key}", quoted(FIELDS[at].name))
            });
            let table = quoted(&self.table);
            client.batch_execute(&format!("{SESSION}; CREATE TABLE IF NOT EXISTS {table} ({columns})"))?;
            self.client = Some(client);
        }
        Ok(self.client.as_mut().expect("it is connected"))
    }

    fn store(&mut self, batch: Batch<'_>) -> Result<u64, postgres::Error> {
        let values: Vec<Vec<_>> =
            FIELDS.iter().map(|f| batch.documents().map(|d| text((f.value)(d))).collect()).collect();
        let bytes = values.iter().flatten().flatten().map(|text| text.len() as u64).sum();
        let parameters: Vec<&(dyn ToSql + Sync)> = values.iter().map(|values| values as &(dyn ToSql + Sync)).collect();
        let deleted: Vec<&str> = batch.deleted().collect();
        let (insert, delete) =
            (insert(&self.table), format!("DELETE FROM {} WHERE \"id\" = ANY($1)", quoted(&self.table)));
        let mut transaction = self.client()?.transaction()?;
        if !values[0].is_empty() {
            transaction.execute(&insert, &parameters)?;
        }
        if !deleted.is_empty() {
            transaction.execute(&delete, &[&deleted])?;
        }
        transaction.commit()?;
        Ok(bytes)
    }

    fn page(&mut self, after: &str, most: usize) -> Result<Vec<Entry>, postgres::Error> {
        let table = quoted(&self.table);
        let select = format!("SELECT \"id\", \"digest\" FROM {table} WHERE \"id\" > $1 ORDER BY \"id\" LIMIT {most}");
        let rows = self.client()?.query(&select, &[&after])?;
        rows.iter().map(|row| Ok(Entry { id: row.try_get(0)?, digest: row.try_get(1)? })).collect()
    }

    /// An error of the server or of the connection, which the next try opens again.
    fn failure(&mut self, error: &postgres::Error) -> Failure {
        self.client = None;
        let why = format!("PostgreSQL: {}", causes(error));
        // classes of SQLSTATE, by appendix A of its manual
        match error.code().map(SqlState::code) {
            None => Failure::again(why),
            Some(code) => match &code[..2] {
                // data, a constraint, a limit of the program
                "21" | "22" | "23" | "54" => Failure::Refused { why },
                // a connection, a conflict, resources, an operator, the system
                "08" | "40" | "53" | "55" | "57" | "58" => Failure::again(why),
                _ => Failure::Broken { why },
            },
        }
    }
}

impl Sink for Postgres {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        let bytes = self.store(batch).map_err(|error| self.failure(&error))?;
        Ok(Applied { bytes, ..Applied::default() })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        self.page(after.unwrap_or_default(), most).map_err(|error| self.failure(&error))
    }
}

/// A statement with one array for each column.
fn insert(table: &str) -> String {
    let values = columns(|at| match FIELDS[at].holds {
        Holds::Keywords => format!("string_to_array(c{at}, E'\\n')"),
        Holds::Time => format!("c{at}::timestamptz"),
        Holds::Keyword | Holds::Prose => format!("c{at}"),
    });
    let (arrays, names) = (columns(|at| format!("${}::text[]", at + 1)), columns(|at| format!("c{at}")));
    upsert(table, &format!("SELECT {values} FROM unnest({arrays}) AS rows ({names})"))
}

/// A value as the server takes it. A text cannot have NUL there; U+FFFD takes its place.
fn text(value: Value<'_>) -> Option<Cow<'_, str>> {
    let text = match value {
        Value::Absent => return None,
        Value::Text(text) => Cow::Borrowed(text),
        // URLs have no line ends
        Value::List(list) => Cow::Owned(list.join("\n")),
    };
    Some(if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::secret::SecretAddress;

    #[test]
    fn s3_a_connection_without_tls_stays_on_this_machine() {
        let open = |url: &str| {
            let text = format!("kind = 'postgres'\nurl = '{url}'");
            let settings: Settings = toml::from_str(&text).unwrap();
            assert_eq!(settings.url, SecretAddress::new(url));
            Postgres::new(&settings, None).map(|sink| sink.config.get_ssl_mode())
        };
        for url in
            ["postgres://me@127.0.0.1:5432/a", "postgres://me@localhost/a", "postgres://me@%2Frun%2Fpostgresql/a"]
        {
            assert_eq!(open(url), Ok(SslMode::Disable), "{url}");
        }
        for url in [
            "postgres://me@db.example/a",
            "postgres://me@db.example/a?sslmode=disable",
            "postgres://me@127.0.0.1,db.example/a",
            "postgres://me@localhost/a?hostaddr=10.0.0.1",
            "postgres://me@localhost/a?sslmode=require",
        ] {
            assert_eq!(open(url), Ok(SslMode::Require), "{url}");
        }
        for url in ["postgres:///a", "postgres://me:sesame@localhost/a", "x"] {
            let refused = open(url).unwrap_err();
            assert!(!refused.contains("sesame"), "{refused}");
        }
    }
}
