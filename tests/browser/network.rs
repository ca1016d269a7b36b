//! The network of a test: pages by their URLs, answered at once, later, or never.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawler::browser::{Asked, Denied, Network, Reply};

/// Answers of the network.
#[derive(Clone, Debug)]
pub enum Answer {
    Found { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    Later(Duration, Box<Answer>),
    Never,
    Denied(Denied),
}

impl Answer {
    pub fn of(kind: &str, body: impl Into<Vec<u8>>) -> Answer {
        Answer::Found { status: 200, headers: vec![("Content-Type".to_owned(), kind.to_owned())], body: body.into() }
    }

    pub fn html(body: &str) -> Answer {
        Answer::of("text/html; charset=utf-8", body)
    }

    pub fn script(body: &str) -> Answer {
        Answer::of("text/javascript", body)
    }

    pub fn redirect(to: &str) -> Answer {
        Answer::Found { status: 302, headers: Vec::new(), body: Vec::new() }.with("Location", to)
    }

    pub fn with(self, name: &str, value: &str) -> Answer {
        let Answer::Found { status, mut headers, body } = self else { unreachable!("nothing to add a field to") };
        headers.push((name.to_owned(), value.to_owned()));
        Answer::Found { status, headers, body }
    }

    pub fn later(self, ms: u64) -> Answer {
        Answer::Later(Duration::from_millis(ms), Box::new(self))
    }

    fn give(self, reply: Reply) {
        match self {
            Answer::Found { status, headers, body } => reply.fulfill(status, headers, body),
            Answer::Denied(denied) => reply.fail(denied),
            Answer::Later(time, answer) => {
                std::thread::spawn(move || {
                    std::thread::sleep(time);
                    answer.give(reply);
                });
            }
            Answer::Never => std::mem::forget(reply),
        }
    }
}

type Rule = Box<dyn Fn(&Asked) -> Option<Answer> + Send + Sync>;

/// Pages, and what was asked for.
#[derive(Default)]
pub struct Web {
    pages: HashMap<String, Answer>,
    rule: Option<Rule>,
    asked: Mutex<Vec<Asked>>,
}

impl Web {
    pub fn of(pages: &[(&str, Answer)]) -> Arc<Web> {
        let pages = pages.iter().map(|(url, answer)| ((*url).to_owned(), answer.clone())).collect();
        Arc::new(Web { pages, ..Web::default() })
    }

    /// Pages by a rule.
    pub fn by(rule: impl Fn(&Asked) -> Option<Answer> + Send + Sync + 'static) -> Arc<Web> {
        Arc::new(Web { rule: Some(Box::new(rule)), ..Web::default() })
    }

    pub fn asked(&self) -> Vec<String> {
        self.requests().iter().map(|asked| format!("{} {}", asked.method, asked.url)).collect()
    }

    pub fn requests(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The request of a URL.
    #[track_caller]
    pub fn request(&self, url: &str) -> Asked {
        let requests = self.requests();
        let found = requests.iter().find(|asked| asked.url == url).cloned();
        found.unwrap_or_else(|| panic!("{url} was not asked for: {:#?}", self.asked()))
    }

    pub fn was_asked(&self, url: &str) -> bool {
        self.requests().iter().any(|asked| asked.url == url)
    }
}

impl Network for Web {
    fn request(&self, asked: Asked, reply: Reply) {
        let answer = self.rule.as_ref().and_then(|rule| rule(&asked)).or_else(|| self.pages.get(&asked.url).cloned());
        self.asked.lock().unwrap().push(asked);
        let absent = || Answer::Found { status: 404, headers: Vec::new(), body: Vec::new() };
        answer.unwrap_or_else(absent).give(reply);
    }
}
