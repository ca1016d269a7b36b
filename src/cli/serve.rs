//! `crawler serve`: replays the archive of a crawl in a browser.

use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Args;

use super::exit::Exit;
use super::{DirArg, run};
use crate::clock::Time;
use crate::crawl::serve::{HOME_ADDRESS, PROXY_ADDRESS, REPLAY_ADDRESS, ServeOptions, Served, ServedProxy};
use crate::crawl::signals;
use crate::replay;
use crate::report::closing::shell_word;

#[derive(Debug, Args)]
#[command(after_help = "\
Serves the archive on this machine until Ctrl-C, while the crawl runs or afterwards. Open the first address: it has \
the stored hosts and the captures of a URL, and shows a page as it was, with its scripts. Pages are at the second \
address, so that they can neither read nor control anything else; nothing in them is loaded from the network.

At the second address, /TIME/URL is a capture (TIME has 1 to 14 digits), /TIMEid_/URL its bytes as stored, \
/TIMErd_/URL the page as a browser rendered it in the crawl. /timegate/URL and /timemap/link/URL are for clients of \
Memento (RFC 7089).

With addresses other than 127.0.0.1, and with --token, the first address has a token, without which nobody sees the \
archive; programs send it as Authorization: Bearer TOKEN. There is no TLS. Browsers run no service workers at such \
addresses: absolute paths that scripts ask for are not found.

With --proxy, a browser that is configured with that address sees the archive in place of the web: the pages \
unchanged, at their own URLs, over https too, whose certificates are signed by DIR/serve/authority.pem. Use a profile \
of its own for that, as the printed command does.

Examples:
  crawler serve
  crawler serve --proxy --time 20261128
  crawler serve --dir news --address 127.0.0.1:9200 --replay 127.0.0.1:9201

Exit codes: 0 ended by Ctrl-C, 2 no crawl directory, or an address is not free.")]
pub(super) struct ServeArgs {
    #[command(flatten)]
    dir: DirArg,
    /// Address of the pages about the archive; with port 0, any free port
    #[arg(long, value_name = "ADDRESS", default_value = HOME_ADDRESS)]
    address: SocketAddr,
    /// Address of archived pages: the same IP address, another port
    #[arg(long, value_name = "ADDRESS", default_value = REPLAY_ADDRESS)]
    replay: SocketAddr,
    /// Show the archive to nobody without the token in the first address, also on this machine
    #[arg(long)]
    token: bool,
    /// Be a proxy, too, with this address
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = PROXY_ADDRESS)]
    proxy: Option<SocketAddr>,
    /// Time of the captures that the proxy shows, 1 to 14 digits in UTC: the nearest; else the newest
    #[arg(long, value_name = "TIME", value_parser = time, requires = "proxy")]
    time: Option<Time>,
}

/// Reads a time of 1 to 14 digits.
fn time(text: &str) -> Result<Time, String> {
    replay::moment(text).ok_or_else(|| "a time has 1 to 14 digits, such as 2026 or 20261128184520".to_owned())
}

impl ServeArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        run::require_crawl(&self.dir.dir)?;
        let served = Served::open(&self.dir.dir, self.options())?;
        tell(&served)?;
        signals::wait_for_interrupt()?;
        Ok(Exit::Done)
    }

    fn options(&self) -> ServeOptions {
        ServeOptions {
            home: self.address,
            replay: self.replay,
            proxy: self.proxy,
            time: self.time,
            has_token: self.token,
        }
    }
}

/// Says where the archive is, and how it ends.
fn tell(served: &Served) -> anyhow::Result<()> {
    let mut err = io::stderr().lock();
    writeln!(err, "The archive is at {}", served.url())?;
    writeln!(err, "Its pages are at http://{}/", served.replay())?;
    if let Some(proxy) = served.proxy() {
        tell_proxy(proxy, &mut err)?;
    }
    writeln!(err, "Ctrl-C closes it.")?;
    let proxy = served.proxy().map(ServedProxy::address);
    if !served.home().ip().is_loopback() {
        writeln!(
            err,
            "Warning: {} is open to others, without TLS. Who has the token sees the archive.",
            served.home()
        )?;
    }
    if let Some(proxy) = proxy.filter(|proxy| !proxy.ip().is_loopback()) {
        writeln!(err, "Warning: {proxy} is open to others. Anyone who can connect sees the archive.")?;
    }
    Ok(err.flush()?)
}

/// Says how a browser uses the proxy. Those options keep everything else of the browser from the network.
fn tell_proxy(proxy: &ServedProxy, err: &mut impl Write) -> io::Result<()> {
    let ServedProxy { certificate, pin, .. } = proxy;
    let address = proxy.address();
    let profile = certificate.with_file_name("profile");
    writeln!(err, "Its proxy is at http://{address}/, its authority {}", shell_word(certificate))?;
    writeln!(
        err,
        "  chromium --user-data-dir={} --proxy-server={address} --proxy-bypass-list='<-loopback>' \
         --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE {}' --webrtc-ip-handling-policy=disable_non_proxied_udp \
         --ignore-certificate-errors-spki-list={pin}",
        shell_word(&profile),
        address.ip()
    )
}
