//! The contract between the engine and those that make its requests: jobs out, replies in.
//!
//! ```text
//! engine ── FetchJob, ResolveJob, RenderJob, Answer ──► fetch, process, render
//!        ◄── Reply: Page, Failed, Asked, Resolved, Fault ──
//! ```
//! Neither side names the other. A job has the address for its reply ([`Addressed`]); what is said of a site, of the
//! right to make requests and of signatures comes through [`Sites`], [`Lease`] and [`RequestSigner`].

mod conversion;
mod evidence;
mod fault;
mod job;
mod lease;
mod likeness;
pub mod listed;
mod login_plan;
mod recent_urls;
mod render_job;
mod render_plan;
mod reply;
mod request_settings;
mod retries;
mod signing;
mod sites;

pub use conversion::{Conversion, ConversionFailure, Converter};
pub use evidence::{ContentDigests, Evidence, PageLink, ParameterEvidence, ParameterKeys};
pub use fault::{Fault, panic_text};
pub use job::{
    FetchFailed, FetchJob, Fetched, Findings, FoundLink, HeldPermits, Judgement, LimitsMet, LoginFindings, Processed,
    Purpose, ResolveJob, Response, Target, Unresolved,
};
pub use lease::Lease;
pub use likeness::Likeness;
pub use login_plan::{LoginPlan, LoginStep, Message, Submission};
pub use recent_urls::RecentUrls;
pub use render_job::{RenderJob, RenderWork};
pub use render_plan::{Answer, Ask, AskId, Consent, Found, Refusal, RenderMode, RenderWish, Rendered, Resource};
pub use reply::{Addressed, Reply, ReplyTo};
pub use request_settings::{CookieUse, RequestSettings};
pub use retries::{Answered, Retries};
pub use signing::{RequestSigner, SignatureFields};
pub use sites::{Rank, Sites};
