//! The command line of a browser, and how it is confined.
//!
//! Every browser gets: no network (a proxy with a name that nothing resolves is before everything, this machine
//! included), nothing that speaks to its maker, a profile that nobody else has, the environment of nobody. What it gets
//! where the machine can do it, in this order:
//!
//! 1. Its own namespaces (`unshare`, of util-linux): no network interface, and no process of it survives its first one,
//!    stopped or not.
//! 2. Only the network namespace, where no `/proc` can be mounted, as in most containers.
//! 3. Only the signal that kills it with us (`setpriv`). Its pipe ends with us as well, and it ends with its pipe.
//!
//! It never runs as root: root becomes nobody first. Its own sandbox is on in every case: Chromium refuses to start
//! where it cannot have one, and so do we where somebody else's script or settings would turn it off.

use std::path::Path;
use std::process::{Command, Stdio};

use super::RenderFailure;

/// The user that root becomes: `nobody` on every Linux that is known.
const NOBODY: u32 = 65_534;
/// Free bytes of `/dev/shm` that browsers can do with.
const SHARED_BYTES_MIN: u64 = 1 << 30;

/// Arguments that make a browser quiet and small. Those that only some versions know do no harm to others.
const ARGUMENTS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    // nothing leaves: all there is goes to a proxy whose name has no address
    "--proxy-server=http://proxy.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--disable-quic",
    // nobody is called
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    // nobody is asked
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-prompt-on-repost",
    "--disable-search-engine-choice-screen",
    "--no-default-browser-check",
    "--no-first-run",
    "--password-store=basic",
    "--use-mock-keychain",
    // no page is slower because it is not in front
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // looks and costs
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--in-process-gpu",
    "--log-level=3",
];

/// Features that are off: the ones that contact the browser maker's servers or keep pages that were left, and the
/// browser's own pages in windows, which cost more than the page.
const FEATURES_OFF: &[&str] = &[
    "AutofillServerCommunication",
    "BackForwardCache",
    "CertificateTransparencyComponentUpdater",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsUpgrades",
    "InterestFeedContentSuggestions",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "Prerender2",
    "SpareRendererForSitePerProcess",
    "Translate",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
];

/// Arguments that nobody else may add, in a script or in settings of the system.
const UNSAFE: &[&str] = &["--no-sandbox", "--single-process", "--disable-namespace-sandbox", "--no-zygote"];

/// The way in which a browser is confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Confinement {
    /// The words before its program; each program of them becomes the next one.
    words: Vec<String>,
    /// True if root becomes nobody.
    is_dropped: bool,
    /// True if it runs without a sandbox.
    pub is_unsandboxed: bool,
}

impl Confinement {
    /// The closest one that this machine has. Runs short commands.
    pub(super) fn find(allow_unsandboxed: bool) -> Result<Confinement, RenderFailure> {
        let is_root = rustix::process::geteuid().is_root();
        let nobody = format!("setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --");
        let drop = if is_root { nobody.as_str() } else { "" };
        if is_root && !runs(&words(drop), &["true"]) {
            return match allow_unsandboxed {
                true => Ok(Confinement { words: Vec::new(), is_dropped: false, is_unsandboxed: true }),
                false => Err(RenderFailure::Unsandboxed(
                    "it has none as root, and there is no setpriv (util-linux) to become another user".to_owned(),
                )),
            };
        }
        let dies = "setpriv --pdeathsig KILL --";
        let closed = "setpriv --pdeathsig KILL --no-new-privs --";
        let unshare = "unshare --user --map-current-user --net";
        // credentials that change take the signal back, so it is asked for again after each change
        let all = format!("{drop} {dies} {unshare} --pid --fork --mount-proc --kill-child=KILL -- {closed}");
        let network = format!("{drop} {unshare} -- {closed}");
        // its own sandbox is made of the same namespaces, once more
        let sandbox = ["unshare", "--user", "true"];
        let found = [all, network].iter().map(|line| words(line)).find(|words| runs(words, &sandbox));
        let found = found.unwrap_or_else(|| {
            let line = words(&format!("{drop} {dies}"));
            if runs(&line, &["true"]) { line } else { words(drop) }
        });
        Ok(Confinement { words: found, is_dropped: is_root, is_unsandboxed: false })
    }

    /// The same without a sandbox of the browser.
    pub(super) fn unsandboxed(&self) -> Confinement {
        Confinement { is_unsandboxed: true, ..self.clone() }
    }

    /// The command that starts `program` with its profile in `profile`. Standard input and output are the pipes.
    pub(super) fn command(&self, program: &Path, profile: &Path) -> std::io::Result<Command> {
        if self.is_dropped {
            std::os::unix::fs::chown(profile, Some(NOBODY), Some(NOBODY))?;
        }
        // the browser reads from 3 and writes to 4: the shell puts the pipes there and becomes the browser
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh"]).args(&self.words).arg(program);
        command.args(ARGUMENTS).arg(format!("--disable-features={}", FEATURES_OFF.join(",")));
        if self.is_unsandboxed {
            command.arg("--no-sandbox");
        }
        if !has_shared_memory() {
            command.arg("--disable-dev-shm-usage");
        }
        let mut data = std::ffi::OsString::from("--user-data-dir=");
        data.push(profile);
        command.arg(data).arg("about:blank");
        command.env_clear().current_dir(profile);
        for (name, value) in std::env::vars_os() {
            if name == "PATH" || name == "TZ" || name == "LD_LIBRARY_PATH" {
                command.env(name, value);
            }
        }
        command.env("HOME", profile).env("TMPDIR", profile).env("LANG", "C.UTF-8");
        command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:").env("DBUS_SYSTEM_BUS_ADDRESS", "disabled:");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// Returns the first of `arguments` that takes the sandbox away, if one does.
pub(super) fn unsafe_argument(arguments: &[String]) -> Option<&str> {
    arguments.iter().map(String::as_str).find(|argument| UNSAFE.contains(argument))
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Returns whether `program` runs behind `words` and exits with success.
fn runs(words: &[String], program: &[&str]) -> bool {
    let mut line = words.iter().map(String::as_str).chain(program.iter().copied());
    let Some(first) = line.next() else { return true };
    let mut command = Command::new(first);
    command.args(line).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn has_shared_memory() -> bool {
    let free = |stat: rustix::fs::StatVfs| stat.f_bavail * stat.f_frsize;
    rustix::fs::statvfs("/dev/shm").is_ok_and(|stat| free(stat) >= SHARED_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_others_that_take_the_sandbox_away_are_seen() {
        let words = |line: &str| super::words(line);
        assert_eq!(unsafe_argument(&words("chromium --headless=new --no-sandbox")), Some("--no-sandbox"));
        assert_eq!(unsafe_argument(&words("chromium --headless=new --no-first-run")), None);
    }

    #[test]
    fn no_argument_takes_the_sandbox_away_unless_it_is_asked_for() {
        let confinement = Confinement { words: Vec::new(), is_dropped: false, is_unsandboxed: false };
        let arguments = |confinement: &Confinement| {
            let command = confinement.command(Path::new("x"), Path::new("/nowhere")).unwrap();
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(unsafe_argument(&arguments(&confinement)), None);
        assert_eq!(unsafe_argument(&arguments(&confinement.unsandboxed())), Some("--no-sandbox"));
    }
}
