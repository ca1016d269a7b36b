//! The statements of an answer and its site about the use of the page, to be recorded with it.

use super::{Processor, brings_a_page};
use crate::contract::{FetchJob, Findings, Response, Target};
use crate::web::html::{is_html, may_be_html};
use crate::web::statements::Statements;

/// Bytes of a decoded page that are read for its statements where no links are looked for in it: an error page, mostly.
const ERROR_PAGE_BYTES: usize = 64 << 10;

impl Processor {
    /// Collects the statements about the use of an answer. `findings` have those that the scan of the page has met.
    pub(super) fn statements(&mut self, job: &FetchJob, response: &Response, findings: &mut Findings) -> Statements {
        let mut stated = Statements::of_header(&response.headers, &self.options.agent_token);
        stated.add(&std::mem::take(&mut findings.statements));
        match &job.target {
            Target::Page { permit, .. } => {
                if !brings_a_page(response.status) {
                    self.read_error_page(response, &mut stated);
                }
                stated.add_preferences(permit.preferences());
            }
            Target::Robots { .. } => {
                let rules = findings.rules.as_ref();
                rules.into_iter().for_each(|rules| stated.add_preferences(rules.preferences(job.url.as_str())));
            }
            Target::Login { .. } | Target::Resource { .. } => {}
        }
        stated
    }

    fn read_error_page(&mut self, response: &Response, stated: &mut Statements) {
        let content_type = response.content_type();
        let content_type = content_type.as_deref();
        if response.body.is_empty() || !may_be_html(content_type) {
            return;
        }
        let decoded = self.decoder.decode(response.content_encoding().as_deref(), &response.body, ERROR_PAGE_BYTES);
        if is_html(content_type, &decoded.bytes) {
            stated.add_page(&decoded.bytes, content_type, &self.options.agent_token);
        }
    }
}
