//! The ways of a message to people: the mail program of the system, and a webhook.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mail_builder::MessageBuilder;
use mail_builder::headers::HeaderType;
use mail_builder::headers::raw::Raw;
use reqwest::Method;

use super::message::Message;
use crate::config::{MessageForm, Watch};
use crate::sink::{Endpoint, Failure};
use crate::web::secret::{Secret, SecretAddress};

const JSON: &str = "application/json";
/// Characters of what a mail program says about its failure.
const WORDS_MAX: usize = 300;

/// The channels of a watch.
pub(super) struct Channels {
    all: Vec<Channel>,
    /// Channels that have the message which is being sent: one that is tried again goes to the others alone.
    done: usize,
}

enum Channel {
    Mail(Mail),
    Webhook { endpoint: Endpoint, form: MessageForm },
}

impl Channels {
    /// Those of `settings`; `webhook` is the URL to which they refer. Nothing is connected to.
    pub(super) fn open(settings: &Watch, webhook: Option<&Secret>) -> Result<Channels, String> {
        let mut all = Vec::new();
        if !settings.mail.is_empty() {
            all.push(Channel::Mail(Mail::of(settings)?));
        }
        if let Some(url) = webhook {
            let endpoint = Endpoint::new(&SecretAddress::new(url.expose()))?;
            all.push(Channel::Webhook { endpoint, form: settings.form });
        }
        Ok(Channels { all, done: 0 })
    }

    /// Sends a message by all of them.
    pub(super) fn send(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        while let Some(channel) = self.all.get(self.done) {
            channel.send(message)?;
            self.done += 1;
        }
        self.done = 0;
        Ok(())
    }
}

impl Channel {
    fn send(&self, message: &Message<'_>) -> Result<(), Failure> {
        let again = |why: String| Failure::Again { why, wait: None };
        match self {
            Channel::Mail(mail) => mail.send(message).map_err(again),
            Channel::Webhook { endpoint, form } => {
                let body = message.json(*form).to_string();
                let request = endpoint.request(Method::POST, &[], "").header("content-type", JSON).body(body);
                let answer = endpoint.send(request).map_err(again)?;
                if answer.status.is_success() { Ok(()) } else { Err(answer.failure("the webhook")) }
            }
        }
    }
}

/// Mail by a program that takes it as `sendmail` does.
struct Mail {
    from: String,
    to: Vec<String>,
    program: PathBuf,
}

impl Mail {
    fn of(settings: &Watch) -> Result<Mail, String> {
        let Watch { from, mail, sendmail, .. } = settings;
        match [from].into_iter().chain(mail).find(|address| !is_address(address)) {
            Some(wrong) => Err(format!("{wrong:?} is no mail address, such as me@example.org")),
            None => Ok(Mail { from: from.clone(), to: mail.clone(), program: sendmail.clone() }),
        }
    }

    fn send(&self, message: &Message<'_>) -> Result<(), String> {
        let mail = MessageBuilder::new()
            .from(self.from.as_str())
            .to(self.to.iter().map(String::as_str).collect::<Vec<_>>())
            .subject(message.subject())
            // no program answers it
            .header("Auto-Submitted", HeaderType::Raw(Raw::new("auto-generated")))
            .text_body(message.text());
        let mail = mail.write_to_string().map_err(|error| format!("mail: {error}"))?;
        // the program has the line ends of this system
        let mail = mail.replace("\r\n", "\n");
        hand_over(&self.program, &self.from, &self.to, mail.as_bytes())
            .map_err(|why| format!("mail by {}: {why}", self.program.display()))
    }
}

/// Runs `program` with a mail at its standard input, and waits until it has taken it.
fn hand_over(program: &Path, from: &str, to: &[String], mail: &[u8]) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(["-i", "-f", from, "--"]).args(to);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(mail));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, words.trim().chars().take(WORDS_MAX).collect::<String>()));
    }
    written.map_err(|error| error.to_string())
}

/// True for an address without a name, comments and quotes.
fn is_address(text: &str) -> bool {
    let is_plain =
        |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '<' | '>' | '(' | ')' | ',' | ';' | '"');
    let parts = text.split_once('@').filter(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'));
    parts.is_some() && text.chars().all(is_plain) && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_no_option_and_no_second_header() {
        assert!(["me@example.org", "a+b@[::1]", "ü@ü.example"].into_iter().all(is_address));
        for wrong in ["", "me", "@a", "me@", "-oQ/tmp@a", "a@b@c", "a@b\nBcc: c@d", "a b@c", "A <a@b>", "a@b,c@d"] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_program_that_fails_is_told_with_its_words() {
        let to = ["b@b.example".to_owned()];
        let failed = hand_over(Path::new("/bin/sh"), "a@a.example", &to, b"x").unwrap_err();
        assert!(failed.contains("exit status"), "{failed}");
        assert!(hand_over(Path::new("/nowhere/sendmail"), "a@a.example", &to, b"x").is_err());
        // one that does not read at all, and succeeds, has taken nothing
        let mail = vec![b'x'; 1 << 20];
        assert!(hand_over(Path::new("/bin/true"), "a@a.example", &to, &mail).is_err());
    }
}
