//! Documents that are no pages, such as PDFs, made into pages, which the rest of the crawler reads like any other.
//!
//! The readers of formats are the one part of the crawler that parses what only large parsers can parse. They run in
//! processes of their own, which can do nothing but read bytes and write text (`child`, `sandbox`); the crawl has a
//! `pool` of those, and knows of all this one trait, `contract::Converter`.

use crawler_contract::contract;
use crawler_web::web;

pub mod documents;
