//! The fetch executor against servers that lie, dawdle and break: name servers, HTTP servers and TLS servers of the
//! tests' own on loopback.
//!
//! `dns` has the name servers, `limits` what an HTTP server can do to a client, `connections` what is kept open and
//! sent, `tls` certificates and HTTP/2, `whole` a whole crawl beside such servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fetch {
    pub mod client;
    mod connections;
    mod dns;
    pub mod http;
    mod limits;
    pub mod nameserver;
    mod tls;
    mod whole;
}
