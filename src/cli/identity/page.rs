//! `crawler identity page`: an HTML page that says whose bot this is and how it is kept away, from the settings.
//!
//! It is one file without scripts, pictures or anything from elsewhere. Every value is escaped.

use std::net::IpAddr;
use std::path::PathBuf;

use std::io::{self, Write};

use clap::Args;

use super::{DIRECTORY_PATH, settings};
use crate::cli::exit::Exit;
use crate::config::Config;
use crate::disk::Aside;
use crate::text::escape::html;
use crate::web::mailbox::address_of;

#[derive(Debug, Args)]
#[command(after_help = "\
The page says what the settings say: name, contact, robots.txt, delays, signatures. Put it where crawl.contact leads.

Examples:
  crawler identity page --config my.toml > bot.html
  crawler identity page --config my.toml --address 192.0.2.7 --output bot.html
  crawler identity page --config my.toml --about \"It archives news.\"")]
pub(super) struct PageArgs {
    /// Settings in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// An address that requests come from; several may be named
    #[arg(long, value_name = "IP")]
    address: Vec<IpAddr>,
    /// Purpose of the bot
    #[arg(long, value_name = "TEXT", default_value = "")]
    about: String,
    /// File for the page, in place of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl PageArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let page = page(&settings(self.config.as_deref())?, &self.about, &self.address);
        match &self.output {
            Some(path) => Aside::put(path, page.as_bytes())?,
            None => io::stdout().lock().write_all(page.as_bytes())?,
        }
        Ok(Exit::Done)
    }
}

/// Returns a link to `contact`, which is a web page, or an address to write to.
fn link(contact: &str) -> String {
    let target = match contact {
        url if url.starts_with("https://") || url.starts_with("http://") => Some(url.to_owned()),
        address if address.contains('@') => Some(format!("mailto:{}", address_of(address))),
        _ => None,
    };
    let text = html(contact);
    target.map_or(text.clone(), |target| format!("<a href=\"{}\">{text}</a>", html(&target)))
}

fn page(config: &Config, about: &str, addresses: &[IpAddr]) -> String {
    let (name, identity) = (html(config.agent_token()), &config.identity);
    let mut rows = vec![("User-Agent", format!("<code>{}</code>", html(&config.user_agent())))];
    if !config.crawl.contact.is_empty() {
        rows.push(("Contact", link(&config.crawl.contact)));
    }
    if !identity.from.is_empty() {
        rows.push(("From", link(&identity.from)));
    }
    let listed: Vec<_> = addresses.iter().map(|address| format!("<code>{address}</code>")).collect();
    if !listed.is_empty() {
        rows.push(("Addresses", listed.join(", ")));
    }
    rows.push(("Name in robots.txt", format!("<code>{name}</code>")));
    let rows: String = rows.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n")).collect();
    let about = if about.is_empty() { String::new() } else { format!("<p>{}</p>\n", html(about)) };
    let signed = if identity.key_file.is_empty() || !identity.sign { String::new() } else { signed(config) };
    let robots = robots(config, &name);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{name}: about this bot</title>\n\
         <style>body{{max-width:44em;margin:2em auto;padding:0 1em;font:1em/1.5 sans-serif}}dt{{font-weight:bold}}\
         pre{{background:#eee;color:#000;padding:.7em;overflow:auto}}</style>\n</head>\n<body>\n\
         <h1>{name}</h1>\n<p>{name} is a web crawler. If you found it in your logs, this page says whose it is and \
         how to keep it away.</p>\n{about}<dl>\n{rows}</dl>\n{robots}{signed}</body>\n</html>\n"
    )
}

/// Describes how to keep the bot away, and how gently it asks.
fn robots(config: &Config, name: &str) -> String {
    let politeness = &config.politeness;
    let delay = politeness.delay_min.as_secs_f64();
    let waits = format!(
        "<p>It makes {} at a time to a host, waits at least {delay} seconds between two, and longer where a server is \
         slow, asks for it by <code>Crawl-delay</code>, or answers with 429 or 503.</p>\n",
        match politeness.connections_per_host {
            1 => "one request".to_owned(),
            many => format!("{many} requests"),
        }
    );
    let obeyed = "<p>It obeys <code>robots.txt</code> (RFC 9309). To keep it away from a whole site:</p>\n";
    let rules = format!("<pre>User-agent: {name}\nDisallow: /</pre>\n");
    let head = "<h2>How to keep it away</h2>\n";
    let hours = config.robots.cache.as_secs() / 3_600;
    let again = format!("<p>A change takes effect when it reads the file again, within {hours} hours.</p>\n");
    if config.robots.obey { [head, obeyed, &rules, &again, &waits].concat() } else { waits }
}

/// Describes how to distinguish its requests from others.
fn signed(config: &Config) -> String {
    let agent = html(&config.identity.signature_agent);
    format!(
        "<h2>How to know that it is the one</h2>\n<p>Anyone can send the name above. Its requests are signed (HTTP \
         Message Signatures, RFC 9421, Ed25519; the tag is <code>web-bot-auth</code>), and carry \
         <code>Signature-Agent</code> with <code>{agent}</code>. The public keys are in the \
         <a href=\"{agent}{DIRECTORY_PATH}\">key directory</a>.</p>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_what_the_settings_say_and_nothing_in_them_becomes_markup() {
        let text = "[crawl]\nuser_agent = \"mybot/2\"\ncontact = \"https://a.example/?x=1&y='<b>'\"\n[identity]\n\
                    from = \"\\\"<i>\\\" <bot@a.example>\"\nkey_file = \"secret.pem\"\n\
                    signature_agent = \"https://bot.example\"\n";
        let page =
            page(&Config::parse(text, "my.toml").unwrap(), "<script>alert(1)</script>", &["::1".parse().unwrap()]);
        for part in [
            "<title>mybot: about this bot</title>",
            "href=\"https://a.example/?x=1&amp;y=&#39;&lt;b&gt;&#39;\"",
            "href=\"mailto:bot@a.example\">&quot;&lt;i&gt;&quot; &lt;bot@a.example&gt;<",
            "<pre>User-agent: mybot\nDisallow: /</pre>",
            "<code>::1</code>",
            "href=\"https://bot.example/.well-known/http-message-signatures-directory\"",
            "&lt;script&gt;",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("secret.pem"), "{page}");
    }

    #[test]
    fn a_bot_without_key_or_robots_txt_claims_neither() {
        let page = page(&Config::parse("[robots]\nobey = false\n", "my.toml").unwrap(), "", &[]);
        assert!(!page.contains("RFC 9421") && !page.contains("Disallow") && !page.contains("Contact"), "{page}");
    }
}
