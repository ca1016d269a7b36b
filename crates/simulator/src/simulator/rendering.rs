//! The simulated browser: pages that take long, ask for more, fail and hang, in virtual time.
//!
//! For the pages of half of the hosts of a web that is rendered the server sends a shell with a script; what a browser
//! makes of one is the page of the plan. So a crawl finds all pages only if it renders, and reads again what it has
//! rendered after a death. Every page asks for some scripts at its own host and at others that it links to: they lie
//! below [`PREFIX`], belong to no plan, and are answered by the network itself.
//!
//! A page that needs no browser may crash one, hang, or take too much memory for good; one that does is taken up again
//! by the executor, so that nothing is missing.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::contract::{Answer, Ask, AskId, RenderJob, RenderWork};
use crate::process::{RenderOutcome, RenderedPage};
use crate::web::url::CanonicalUrl;

/// The path of what pages ask for.
pub(super) const PREFIX: &str = "/~render/";
/// A page that is not quiet by then is taken as it is.
const DEADLINE: Duration = Duration::from_secs(30);

/// Rendering of a page, as a browser makes it.
type Outcome = RenderOutcome;

/// A page in it.
struct Page {
    job: RenderJob,
    outcome: Outcome,
    /// URLs that it asks for only after the answers to those that it asked for first.
    later: Vec<CanonicalUrl>,
    open: usize,
    asked: u64,
}

/// The browser of one engine.
#[derive(Default)]
pub(super) struct Browser {
    pages: BTreeMap<u64, Page>,
}

/// Something that happens to a page.
pub(super) enum Step {
    /// It asks for something.
    Ask(Ask),
    /// It is quiet, or its time is over.
    End(u64),
}

impl Browser {
    /// A page comes, of which a browser makes `dom`, and which asks for `urls`. It may fail unless it `has_to_succeed`.
    pub(super) fn begin(
        &mut self,
        job: RenderJob,
        dom: String,
        urls: Vec<CanonicalUrl>,
        has_to_succeed: bool,
        rng: &mut fastrand::Rng,
    ) -> Vec<(Duration, Step)> {
        let number = job.number;
        let failure = ["crashed", "hung", "memory"][rng.usize(0..3)];
        let fails = !has_to_succeed && rng.u8(0..6) == 0;
        let outcome = match fails {
            _ if job.work == RenderWork::AsServed => RenderOutcome::AsServed,
            true => RenderOutcome::Failed(failure.to_owned()),
            false => RenderOutcome::Rendered(RenderedPage { dom, ..RenderedPage::default() }),
        };
        let urls = if job.work == RenderWork::AsServed { Vec::new() } else { urls };
        let (now, later) = urls.into_iter().partition::<Vec<_>, _>(|_| rng.bool());
        let mut page = Page { job, outcome, later, open: 0, asked: 0 };
        let mut steps = vec![(DEADLINE, Step::End(number))];
        for url in now {
            steps.push((Duration::from_millis(rng.u64(0..300)), Step::Ask(page.ask(url))));
        }
        if page.open == 0 {
            steps.append(&mut page.go_on(rng));
        }
        self.pages.insert(number, page);
        steps
    }

    /// A page hears of what it has asked for.
    pub(super) fn answer(&mut self, id: AskId, _: &Answer, rng: &mut fastrand::Rng) -> Vec<(Duration, Step)> {
        let Some(page) = self.pages.get_mut(&id.rendering) else { return Vec::new() };
        page.open -= 1;
        if page.open == 0 { page.go_on(rng) } else { Vec::new() }
    }

    /// The page is over, unless it is so already.
    pub(super) fn end(&mut self, number: u64) -> Option<(RenderJob, Outcome)> {
        self.pages.remove(&number).map(|page| (page.job, page.outcome))
    }
}

impl Page {
    fn ask(&mut self, url: CanonicalUrl) -> Ask {
        let id = AskId { rendering: self.job.number, number: self.asked };
        self.asked += 1;
        self.open += 1;
        Ask { id, url, fields: Vec::new() }
    }

    /// It has all that it has asked for: it asks for the rest, or is quiet soon.
    fn go_on(&mut self, rng: &mut fastrand::Rng) -> Vec<(Duration, Step)> {
        let later = std::mem::take(&mut self.later);
        if later.is_empty() {
            return vec![(Duration::from_millis(rng.u64(100..3_000)), Step::End(self.job.number))];
        }
        let ask = |url| (Duration::from_millis(rng.u64(0..300)), Step::Ask(self.ask(url)));
        later.into_iter().map(ask).collect()
    }
}

/// Returns the body that the server sends for a page that a script makes.
pub(super) fn shell(url: &str) -> Vec<u8> {
    format!("<!doctype html><title>{url}</title><script>app()</script><div id=root></div>").into_bytes()
}

/// A script that pages ask for, by its number.
pub(super) fn script(number: &str) -> Vec<u8> {
    format!("// {number}\n{}", "work();\n".repeat(60)).into_bytes()
}
