//! Readers of documents, as the settings want them.

use std::sync::Arc;

use crate::config::Config;
use crate::contract::Converter;
use crate::documents::pool::{Pool, PoolOptions};

/// The readers of the documents of a crawl; none where no format is read.
pub(super) fn readers(config: &Config) -> Option<Arc<dyn Converter>> {
    let documents = &config.documents;
    if documents.formats.is_empty() {
        return None;
    }
    let options = PoolOptions {
        program: None,
        formats: documents.formats.clone(),
        readers: documents.readers,
        memory: documents.memory.get(),
        time: documents.time,
    };
    Some(Arc::new(Pool::new(options)))
}
