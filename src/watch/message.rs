//! A message about changes, in the forms that mail, chats and programs take.
//!
//! URLs and values are foreign text: control characters are shown as escapes, nothing of it is markup or a mention, and
//! it is cut to what is new.

use serde_json::{Value as Json, json};

use super::state::{Changed, Difference};
use crate::clock::Time;
use crate::config::MessageForm;
use crate::feed::Reason;
use crate::text::escape::{Escaped, escaped};
use crate::text::figures::{counted, iso_ms};

/// Characters of a value that are shown, and of what is the same before a difference.
const SHOWN_MAX: usize = 200;
const CONTEXT: usize = 40;
/// Characters that Discord takes, and characters that Slack and Teams take with room for their escapes.
const DISCORD_MAX: usize = 2_000;
const CHAT_MAX: usize = 12_000;

const CARD: &str = "application/vnd.microsoft.card.adaptive";
const CARD_SCHEMA: &str = "http://adaptivecards.io/schemas/adaptive-card.json";

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    /// The name of the watch.
    pub watch: &'a str,
    /// The first of the changes.
    pub changes: &'a [Changed],
    /// The number of all changes.
    pub number: u64,
}

impl Message<'_> {
    /// One line.
    pub(super) fn subject(&self) -> String {
        format!("{}: {}", self.watch, counted(self.number, "change"))
    }

    /// A block of lines for each change.
    pub(super) fn text(&self) -> String {
        self.within(usize::MAX, str::to_owned)
    }

    /// The message as a webhook of this form takes it.
    pub(super) fn json(&self, form: MessageForm) -> Json {
        match form {
            MessageForm::Json => {
                let changes: Vec<Json> = self.changes.iter().map(change).collect();
                json!({ "watch": self.watch, "number": self.number, "changes": changes })
            }
            MessageForm::Slack => json!({ "text": self.within(CHAT_MAX, for_slack) }),
            MessageForm::Discord => {
                json!({ "content": self.within(DISCORD_MAX, str::to_owned), "allowed_mentions": { "parse": [] } })
            }
            MessageForm::Teams => card(&self.subject(), &self.blocks(CHAT_MAX, str::to_owned)),
        }
    }

    fn within(&self, most: usize, made: fn(&str) -> String) -> String {
        let subject = made(&self.subject());
        let blocks = self.blocks(most.saturating_sub(subject.chars().count()), made);
        format!("{subject}\n\n{}", blocks.join("\n\n"))
    }

    /// The first changes that have together at most `most` characters after each was `made`, and how many there are
    /// beside.
    fn blocks(&self, most: usize, made: fn(&str) -> String) -> Vec<String> {
        let more = |left: u64| made(&format!("and {} more", counted(left, "change")));
        // of the line about the rest and the blank lines
        let mut room = most.saturating_sub(60);
        let mut blocks = Vec::new();
        for change in self.changes {
            let block = made(&block(change));
            let length = block.chars().count() + 2;
            if length > room {
                break;
            }
            room -= length;
            blocks.push(block);
        }
        let left = self.number - blocks.len() as u64;
        blocks.extend((left > 0).then(|| more(left)));
        blocks
    }
}

/// A message with an Adaptive Card of these texts.
fn card(heading: &str, blocks: &[String]) -> Json {
    let blocks = blocks.iter().map(|text| text_block(text, "Default"));
    let body: Vec<Json> = std::iter::once(text_block(heading, "Bolder")).chain(blocks).collect();
    let content = json!({ "$schema": CARD_SCHEMA, "type": "AdaptiveCard", "version": "1.4", "body": body });
    json!({ "type": "message", "attachments": [{ "contentType": CARD, "content": content }] })
}

fn text_block(text: &str, weight: &str) -> Json {
    json!({ "type": "TextBlock", "text": for_card(text), "wrap": true, "weight": weight })
}

/// The lines of a change.
fn block(change: &Changed) -> String {
    let what = match &change.difference {
        Difference::New { now } => format!("new: {}", shown(now, 0)),
        Difference::Changed { before, now } => {
            let same = same_before(before, now);
            format!("was: {}\n  now: {}", shown(before, same), shown(now, same))
        }
        Difference::Gone { before, reason } => format!("was: {}\n  {}", shown(before, 0), gone(*reason)),
    };
    format!("{}\n  {what}\n  {}", Escaped(&change.url), iso_ms(Time::from_ms(change.at)))
}

/// The change for programs: its values as they are.
fn change(change: &Changed) -> Json {
    let (kind, before, now, reason) = match &change.difference {
        Difference::New { now } => ("new", None, Some(now), None),
        Difference::Changed { before, now } => ("changed", Some(before), Some(now), None),
        Difference::Gone { before, reason } => ("gone", Some(before), None, Some(reason)),
    };
    json!({
        "change": kind,
        "url": change.url,
        "time": iso_ms(Time::from_ms(change.at)),
        "before": before,
        "now": now,
        "reason": reason,
        "record": change.record,
    })
}

fn gone(reason: Reason) -> &'static str {
    match reason {
        Reason::Gone => "the page is gone",
        Reason::Forgotten => "the operator had it removed",
        Reason::Robots => "robots.txt forbids it now",
        Reason::Scope => "the settings leave it out",
        Reason::Kind => "the page is no content any more",
        Reason::Duplicate => "it is part of another page now",
    }
}

/// The number of characters from where it begins that two values share.
fn same_before(before: &str, now: &str) -> usize {
    before.chars().zip(now.chars()).take_while(|(a, b)| a == b).count()
}

/// A value from shortly before what is new, behind `same` characters.
fn shown(value: &str, same: usize) -> String {
    if value.is_empty() {
        return "nothing".to_owned();
    }
    let skipped = same.saturating_sub(CONTEXT);
    let rest: Vec<char> = value.chars().skip(skipped).take(SHOWN_MAX + 1).collect();
    let text: String = rest.iter().take(SHOWN_MAX).map(|&c| if c.is_whitespace() { ' ' } else { c }).collect();
    let (head, tail) = (if skipped > 0 { "..." } else { "" }, if rest.len() > SHOWN_MAX { "..." } else { "" });
    format!("{head}{}{tail}", escaped(&text))
}

/// Text for Slack, which takes `<` for the begin of a link or of a mention.
fn for_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text for a card, whose blocks take some marks for Markdown.
fn for_card(text: &str) -> String {
    let is_mark = |c: char| matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '#');
    let marked = text.chars().flat_map(|c| is_mark(c).then_some('\\').into_iter().chain([c]));
    marked.collect::<String>().replace('\n', "\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(n: usize, difference: Difference) -> Changed {
        Changed { url: format!("https://a.example/{n}"), at: 1_000, record: "<urn:uuid:1>".to_owned(), difference }
    }

    fn values(before: &str, now: &str) -> Difference {
        Difference::Changed { before: before.to_owned(), now: now.to_owned() }
    }

    fn message<'a>(changes: &'a [Changed], number: u64) -> Message<'a> {
        Message { watch: "prices", changes, number }
    }

    #[test]
    fn people_read_what_was_and_what_is_now() {
        let gone = Difference::Gone { before: "9".to_owned(), reason: Reason::Gone };
        let changes =
            [changed(1, values("9.99", "")), changed(2, gone), changed(3, Difference::New { now: "7".to_owned() })];
        let text = message(&changes, 1_003).text();
        let expected = "prices: 1,003 changes\n\n\
            https://a.example/1\n  was: 9.99\n  now: nothing\n  1970-01-01T00:00:01.000Z\n\n\
            https://a.example/2\n  was: 9\n  the page is gone\n  1970-01-01T00:00:01.000Z\n\n\
            https://a.example/3\n  new: 7\n  1970-01-01T00:00:01.000Z\n\n\
            and 1,000 changes more";
        assert_eq!(text, expected);
    }

    #[test]
    fn of_a_long_text_the_difference_is_shown() {
        let (before, now) = (format!("{}old {}", "a ".repeat(5_000), "c ".repeat(500)), "a ".repeat(5_000) + "new");
        let text = message(&[changed(1, values(&before, &now))], 1).text();
        assert!(text.contains("...a a a") && text.contains("a old c c") && text.contains("a new\n"), "{text}");
        assert!(text.chars().count() < 600, "{text}");
    }

    #[test]
    fn what_a_page_says_is_no_markup_no_mention_and_no_escape_in_a_message() {
        let hostile = "<!channel> <@U1> @everyone [x](https://evil.example) **b**\u{1b}[2J\r\nSubject: x";
        let changes = [changed(1, values("", hostile))];
        let message = message(&changes, 1);
        assert!(!message.text().contains(['\u{1b}', '\r']) && !message.text().contains("\nSubject"));
        let slack = message.json(MessageForm::Slack)["text"].as_str().unwrap().to_owned();
        assert!(slack.contains("&lt;!channel&gt; &lt;@U1&gt;") && !slack.contains('<'), "{slack}");
        let discord = message.json(MessageForm::Discord);
        assert_eq!(discord["allowed_mentions"], json!({ "parse": [] }));
        let card = message.json(MessageForm::Teams);
        let text = card["attachments"][0]["content"]["body"][1]["text"].as_str().unwrap();
        assert!(text.contains("\\[x\\](https") && text.contains("\\*\\*b") && text.contains("\\<!channel"), "{text}");
        // programs get it as it is
        assert_eq!(message.json(MessageForm::Json)["changes"][0]["now"], hostile);
    }

    #[test]
    fn a_message_is_no_longer_than_a_chat_takes() {
        let long = "<x>".repeat(1_000);
        let changes: Vec<_> = (0..50).map(|n| changed(n, values(&long, &long[1..]))).collect();
        for (form, most) in [(MessageForm::Slack, CHAT_MAX), (MessageForm::Discord, DISCORD_MAX)] {
            let json = message(&changes, 70).json(form);
            let text = json["text"].as_str().or(json["content"].as_str()).unwrap();
            assert!(text.chars().count() <= most && text.contains("/1\n") && text.ends_with(" more"), "{text}");
        }
    }
}
