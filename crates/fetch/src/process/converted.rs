//! Documents that are no pages, such as PDFs: a page is made of one, and read in the place of its body.
//!
//! The page is stored with the answer, as what a browser has made of a page is. So a replay, which has it from the
//! archive, finds what was found here, and no document is read twice.

use std::time::Instant;

use super::find::brings_a_page;
use super::rendered::read_as_rendered;
use super::{ProcessOptions, Processor};
use crate::contract::{Conversion, ConversionFailure, FetchJob, Fetched, Judgement, Processed, Response, Target};
use crate::disk;
use crate::warc::Rendition;
use crate::web::coding::{self, BodyDecoder};
use crate::web::format::Format;

/// Decoded bytes by which a format is known.
const START_BYTES: usize = 4 << 10;

/// The format of the document that an answer brings, where the crawl reads it.
pub(super) fn format_of(options: &ProcessOptions, decoder: &mut BodyDecoder, fetched: &Fetched) -> Option<Format> {
    let converter = options.documents.as_ref()?;
    let Fetched { job, response } = fetched;
    if !matches!(job.target, Target::Page { .. }) || !brings_a_page(response.status) {
        return None;
    }
    let content_type = response.content_type();
    if !Format::may_be(content_type.as_deref()) {
        return None;
    }
    let start = decoder.decode(response.content_encoding().as_deref(), &response.body, START_BYTES);
    Format::of(content_type.as_deref(), &start.bytes).filter(|format| converter.reads(*format))
}

/// Everything that the engine needs of a document of this format.
pub(super) fn process(
    processor: &mut Processor,
    format: Format,
    job: FetchJob,
    mut response: Response,
) -> disk::Result<Processed> {
    let begun = Instant::now();
    let page = page_of(&processor.finder.options, &mut processor.finder.decoder, format, &response);
    let conversion = Conversion { format, failure: page.as_ref().err().copied(), duration: begun.elapsed() };
    let purpose = job.target.purpose();
    let mut findings = match &page {
        Ok(page) => {
            // a document is content, whatever its words are
            response.judgement = Judgement::Known(None);
            processor.finder.find(&job.url, purpose, &read_as_rendered(&response, page), &job.scope)
        }
        Err(_) => processor.finder.find(&job.url, purpose, &response, &job.scope),
    };
    response.judgement = findings.judgement();
    let statements = processor.statements(&job, &response, &mut findings);
    let (note, dom) = (conversion.note(), page.as_deref().ok());
    let rendition = Rendition { note: &note, dom, outlinks: &[], pictures: &[] };
    let records = processor.records(&job, &response, &findings, &statements, Some(rendition))?;
    response.body = Vec::new();
    let has_statements = !statements.is_empty();
    let processed = processor.processed(job, response, findings, records);
    Ok(Processed { has_statements, converted: Some(conversion), ..processed })
}

fn page_of(
    options: &ProcessOptions,
    decoder: &mut BodyDecoder,
    format: Format,
    response: &Response,
) -> Result<String, ConversionFailure> {
    let converter = options.documents.as_ref().ok_or(ConversionFailure::NoReader)?;
    if response.truncated.is_some() {
        return Err(ConversionFailure::Truncated);
    }
    let Some(coding) = response.content_encoding() else { return converter.convert(format, &response.body) };
    let decoded_max = coding::within_ratio(response.body.len(), options.decoded_max);
    let decoded = decoder.decode(Some(&coding), &response.body, decoded_max);
    if !decoded.is_whole() {
        return Err(ConversionFailure::TooLarge);
    }
    converter.convert(format, &decoded.bytes)
}
