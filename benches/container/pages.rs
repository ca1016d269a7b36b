//! Pages to be stored, as a crawl's process threads hand them over: whole gzip members, but made for a copy's price.
//!
//! A few exchanges are compressed beforehand. A page takes the members of one of them and puts its own URL into the
//! response record, as a stored block of the deflate stream between two compressed parts, with the checksum that fits:
//! every page is a real WARC record that a reader checks in full, and the container is measured, not the compressor.

use std::ops::Range;

use crawler::clock::Time;
use crawler::container::NewPage;
use crawler::fingerprint::{Fingerprint, Fingerprinter};
use crawler::warc::{Compression, Encoder, Exchange, HttpVersion};
use flate2::{Compress, FlushCompress};

const EXCHANGES: usize = 256;
/// Bytes of a body, which does not compress: the records of a page are 1 KiB then.
const BODY_BYTES: usize = 90;
/// URL in the place of a page's own while its exchange is compressed.
const PLACEHOLDER: &str = "http://placeholder.example/";
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];
/// Header of a stored block that is not the final one.
const STORED_BLOCK: u8 = 0;

/// Makes pages from their numbers.
pub struct Pages {
    exchanges: Vec<Prepared>,
    keys: Fingerprinter,
}

/// An exchange with a gap for the URL.
struct Prepared {
    /// The metadata record, compressed.
    metadata: Vec<u8>,
    /// The response record before the URL: compressed, and its checksum.
    before: (Vec<u8>, crc32fast::Hasher),
    /// The same behind the URL.
    behind: (Vec<u8>, crc32fast::Hasher),
    /// Length of the response record without its URL, uncompressed.
    plain_bytes: usize,
    payload_sha1: [u8; 20],
}

/// Pages that are ready to be stored.
#[derive(Default)]
pub struct Batch {
    records: Vec<u8>,
    urls: String,
    pages: Vec<Page>,
}

struct Page {
    records: Range<usize>,
    /// Range of the response in its records.
    response: Range<usize>,
    url: Range<usize>,
    key: Fingerprint,
    payload_sha1: [u8; 20],
}

impl Pages {
    pub fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let exchanges = (0..EXCHANGES).map(|_| Prepared::new(&mut random)).collect();
        Pages { exchanges, keys: Fingerprinter::random(1) }
    }

    /// The URL of the page with this number, and its fingerprint.
    pub fn name(&self, number: u64) -> (String, Fingerprint) {
        // 50 pages a host, which come one after the other
        let url = format!(
            "http://host-{:06}.example/section/{:03}/page-{number:010}.html",
            number / 50 % 1_000_000,
            number % 7
        );
        let key = self.keys.of(url.as_bytes());
        (url, key)
    }

    /// Fills `batch` with the pages of these numbers.
    pub fn fill(&self, batch: &mut Batch, numbers: Range<u64>) {
        batch.records.clear();
        batch.urls.clear();
        batch.pages.clear();
        for number in numbers {
            let (url, key) = self.name(number);
            let exchange = &self.exchanges[number as usize % EXCHANGES];
            let (start, url_start) = (batch.records.len(), batch.urls.len());
            batch.records.extend_from_slice(&exchange.metadata);
            let response = batch.records.len() - start;
            exchange.response(&url, &mut batch.records);
            batch.urls.push_str(&url);
            batch.pages.push(Page {
                records: start..batch.records.len(),
                response: response..batch.records.len() - start,
                url: url_start..batch.urls.len(),
                key,
                payload_sha1: exchange.payload_sha1,
            });
        }
    }
}

impl Batch {
    pub fn pages(&self) -> impl Iterator<Item = NewPage<'_>> {
        self.pages.iter().map(|page| NewPage {
            revisit: None,
            truncated: false,
            has_statements: false,
            kind: None,
            is_external: false,
            url: &self.urls[page.url.clone()],
            key: page.key,
            status: 200,
            time: Time::from_ms(1_700_000_000_000),
            mime: "text/html",
            robots: false,
            of_rendering: false,
            is_rendered: false,
            payload_sha1: page.payload_sha1,
            payload_bytes: BODY_BYTES as u64,
            records: &self.records[page.records.clone()],
            response: page.response.clone(),
            may_have_versions: false,
            condition: None,
        })
    }

    pub fn url_bytes(&self) -> u64 {
        self.urls.len() as u64
    }
}

impl Prepared {
    fn new(random: &mut fastrand::Rng) -> Self {
        let body: Vec<u8> = (0..BODY_BYTES).map(|_| random.u8(..)).collect();
        let headers = [
            (b"content-type"[..].into(), b"text/html; charset=utf-8"[..].into()),
            (b"server"[..].into(), b"bench"[..].into()),
            (b"content-length"[..].into(), BODY_BYTES.to_string().as_bytes().into()),
        ];
        let exchange = Exchange {
            url: PLACEHOLDER,
            fetched_at: Time::from_ms(1_700_000_000_000),
            duration_ms: 12,
            ip: Some([192, 0, 2, 1].into()),
            http_version: HttpVersion::Http11,
            request: None,
            status: 200,
            reason: "OK",
            headers: &headers,
            body: &body,
            truncated: None,
            via: Some("http://host-000001.example/"),
            depth: 3,
            hops: "LLL",
            seed: 1,
            attempt: 0,
            robots: false,
            of_rendering: false,
            rendition: None,
            again: None,
            canonical: None,
            judged: None,
            statements: None,
            id_seed: random.u128(..),
        };
        let plain = Encoder::new(Compression::None).encode(&exchange);
        let packed = Encoder::new(Compression::Gzip).encode(&exchange);
        let response = &plain.bytes[plain.response];
        let gap = response.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER.as_bytes());
        let gap = gap.expect("a response record has its URL");
        let (before, behind) = (&response[..gap], &response[gap + PLACEHOLDER.len()..]);
        Prepared {
            metadata: packed.bytes[..packed.response.start].to_vec(),
            before: (deflated(before, FlushCompress::Sync), checksum(before)),
            behind: (deflated(behind, FlushCompress::Finish), checksum(behind)),
            plain_bytes: before.len() + behind.len(),
            payload_sha1: packed.payload_sha1,
        }
    }

    /// Appends the response record with `url` to `out`, a gzip member.
    fn response(&self, url: &str, out: &mut Vec<u8>) {
        let length = url.len() as u16;
        let mut sum = self.before.1.clone();
        sum.combine(&checksum(url.as_bytes()));
        sum.combine(&self.behind.1);
        out.extend_from_slice(&GZIP_HEAD);
        out.extend_from_slice(&self.before.0);
        out.push(STORED_BLOCK);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(url.as_bytes());
        out.extend_from_slice(&self.behind.0);
        out.extend_from_slice(&sum.finalize().to_le_bytes());
        out.extend_from_slice(&((self.plain_bytes + url.len()) as u32).to_le_bytes());
    }
}

fn checksum(bytes: &[u8]) -> crc32fast::Hasher {
    let mut sum = crc32fast::Hasher::new();
    sum.update(bytes);
    sum
}

/// `bytes` as a deflate stream of their own, which ends on a whole byte.
fn deflated(bytes: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 256);
    let mut compress = Compress::new(flate2::Compression::fast(), false);
    compress.compress_vec(bytes, &mut out, flush).expect("there is room for all of it");
    out
}
