//! The price that a server asks for an answer. It is recorded, and never paid.
//!
//! | who asks | where | here |
//! |---|---|---|
//! | Cloudflare pay per crawl | `crawler-price: USD 0.01`, `crawler-charged` of any answer | `crawler-price USD 0.01` |
//! | x402 | `payment-required` (Base64 of JSON), or the JSON of a 402 | `x402 amount=10000 asset=0x03… network=base` |
//! | L402, LSAT | `WWW-Authenticate` of a 402, the amount of its Lightning invoice | `L402 amount=10u network=bc` |
//! | `Payment` (draft-ryan-httpauth-payment) | the same, its `request` in Base64 | `Payment amount=100 currency=usd` |
//! | TollBit rates, and the like | members `priceMicros`, `currency` in the JSON of a 402 | `rate USD 5000 micros` |
//!
//! Several are separated by a semicolon and a blank. What a server writes is bounded, and what could be taken for the
//! end of a field or of a price is left out.

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};
use serde_json::Value;

use super::headers;

/// Bytes of all prices of an answer.
const PRICE_BYTES_MAX: usize = 512;
/// Bytes of one value.
const VALUE_BYTES_MAX: usize = 128;
/// Bytes of JSON that are read.
const JSON_BYTES_MAX: usize = 64 << 10;
/// Offers that are read of one answer.
const OFFERS_MAX: usize = 8;
/// Fields of Cloudflare.
const CRAWLER_FIELDS: [&str; 2] = ["crawler-price", "crawler-charged"];

/// Returns the price that an answer asks for, or says that it has charged; `body` is that of a 402, without coding.
pub(crate) fn price_of<B: AsRef<[u8]>>(status: u16, fields: &[(B, B)], body: &[u8]) -> Option<String> {
    let mut prices = Prices::default();
    for name in CRAWLER_FIELDS {
        headers::named(fields, name).for_each(|value| prices.add(name, &[("", &String::from_utf8_lossy(value))]));
    }
    if status == 402 {
        headers::named(fields, "payment-required").filter_map(of_base64).for_each(|json| prices.add_json(&json));
        headers::named(fields, "www-authenticate")
            .for_each(|value| prices.add_challenge(&String::from_utf8_lossy(value)));
        of_json(body).iter().for_each(|json| prices.add_json(json));
    }
    (!prices.text.is_empty()).then_some(prices.text)
}

fn of_json(bytes: &[u8]) -> Option<Value> {
    let looks_so = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
    (looks_so && bytes.len() <= JSON_BYTES_MAX).then(|| serde_json::from_slice(bytes).ok()).flatten()
}

/// JSON in Base64 of either alphabet, with or without padding.
fn of_base64(value: &[u8]) -> Option<Value> {
    let end = value.iter().rposition(|&byte| byte != b'=').map_or(0, |at| at + 1);
    let decoded = BASE64_NOPAD.decode(&value[..end]).or_else(|_| BASE64URL_NOPAD.decode(&value[..end]));
    of_json(&decoded.ok()?)
}

#[derive(Default)]
struct Prices {
    text: String,
}

impl Prices {
    /// Adds a price: who asks, and values with their names.
    fn add(&mut self, who: &str, values: &[(&str, &str)]) {
        let mut price = who.to_owned();
        for (name, value) in values {
            let value: String = value.chars().filter(|c| !c.is_control() && *c != ';').collect();
            let value = value.trim();
            if value.is_empty() || value.len() > VALUE_BYTES_MAX {
                continue;
            }
            let equals = if name.is_empty() { "" } else { "=" };
            price.push_str(&format!(" {name}{equals}{value}"));
        }
        let separator = if self.text.is_empty() { "" } else { "; " };
        let is_new = self.text.split("; ").all(|known| known != price);
        if is_new && self.text.len() + separator.len() + price.len() <= PRICE_BYTES_MAX {
            self.text.push_str(separator);
            self.text.push_str(&price);
        }
    }

    /// Adds what JSON asks for: the offers of x402, or rates.
    fn add_json(&mut self, json: &Value) {
        for offer in items(json.get("accepts")) {
            let amount = text_of(offer.get("amount").or(offer.get("maxAmountRequired")));
            let (asset, network) = (text_of(offer.get("asset")), text_of(offer.get("network")));
            self.add("x402", &[("amount", &amount), ("asset", &asset), ("network", &network)]);
        }
        let rates = if json.is_array() { items(Some(json)) } else { std::slice::from_ref(json) };
        for rate in rates.iter().take(OFFERS_MAX) {
            let price = rate.get("price").unwrap_or(rate);
            let micros = text_of(price.get("priceMicros"));
            if !micros.is_empty() {
                self.add("rate", &[("", &text_of(price.get("currency"))), ("", &format!("{micros} micros"))]);
            }
        }
    }

    /// Adds what a challenge asks for.
    fn add_challenge(&mut self, challenge: &str) {
        let (scheme, parameters) = challenge.trim().split_once(' ').unwrap_or((challenge.trim(), ""));
        match scheme.to_ascii_lowercase().as_str() {
            "l402" | "lsat" => {
                let invoice = parameter(parameters, "invoice").unwrap_or_default();
                let (network, amount) = of_invoice(invoice).unwrap_or_default();
                self.add("L402", &[("amount", amount), ("network", network)]);
            }
            "payment" => {
                let request = parameter(parameters, "request").and_then(|text| of_base64(text.as_bytes()));
                let member = |name: &str| text_of(request.as_ref().and_then(|request| request.get(name)));
                let method = parameter(parameters, "method").unwrap_or_default();
                let (amount, currency) = (member("amount"), member("currency"));
                self.add("Payment", &[("amount", &amount), ("currency", &currency), ("method", method)]);
            }
            _ => {}
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    let items = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    &items[..items.len().min(OFFERS_MAX)]
}

/// A string, or a number as it is written.
fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The value of a parameter of a challenge, without quotes. Commas in it end it: no value that is looked for has one.
fn parameter<'a>(parameters: &'a str, wanted: &str) -> Option<&'a str> {
    parameters.split(',').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().trim_matches('"'))
    })
}

/// Network and amount of a Lightning invoice (BOLT 11), by its readable part: `lnbc10u1…` asks for 10 millionths of a
/// bitcoin.
fn of_invoice(invoice: &str) -> Option<(&str, &str)> {
    let readable = invoice.strip_prefix("ln")?.rsplit_once('1')?.0;
    let digits = readable.find(|c: char| c.is_ascii_digit())?;
    Some(readable.split_at(digits))
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;

    use super::*;

    const X402: &str = r#"{"x402Version":1,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"10000",
        "asset":"0x0a","payTo":"0x0b"},{"amount":5,"network":"eip155:1","asset":"US;D\nC"}]}"#;

    fn price(status: u16, fields: &[(&str, &str)], body: &str) -> String {
        price_of(status, fields, body.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn prices_of_all_who_ask_are_read() {
        let both = "x402 amount=10000 asset=0x0a network=base; x402 amount=5 asset=USDC network=eip155:1";
        let request = BASE64URL_NOPAD.encode(br#"{"amount":"100","currency":"usd","recipient":"x"}"#);
        let payment =
            format!("Payment id=\"a\", realm=\"r\", method=\"tempo\", intent=\"charge\", request=\"{request}\"");
        for (status, fields, body, expected) in [
            (402, &[("Crawler-Price", "USD 0.01")][..], "", "crawler-price USD 0.01"),
            (200, &[("crawler-charged", "USD 0.01")], "", "crawler-charged USD 0.01"),
            (402, &[], X402, both),
            (402, &[("PAYMENT-REQUIRED", &BASE64.encode(X402.as_bytes()))], X402, both),
            (402, &[("www-authenticate", "L402 version=\"0\", token=\"x\", invoice=\"lnbc10u1pjq9\"")], "", {
                "L402 amount=10u network=bc"
            }),
            (402, &[("www-authenticate", "LSAT macaroon=\"x\"")], "", "L402"),
            (402, &[("www-authenticate", &payment)], "", "Payment amount=100 currency=usd method=tempo"),
            (402, &[], r#"[{"license":{},"price":{"currency":"USD","priceMicros":5000}}]"#, "rate USD 5000 micros"),
        ] {
            assert_eq!(price(status, fields, body), expected);
        }
    }

    #[test]
    fn what_asks_for_nothing_has_no_price() {
        for (status, fields, body) in [
            (200, &[][..], X402),
            (402, &[("www-authenticate", "Basic realm=\"x\"")], "<html>pay"),
            (402, &[("payment-required", "no base64!")], "[1, {\"accepts\": 3}]"),
            (401, &[("www-authenticate", "L402 invoice=\"lnbc10u1p\"")], ""),
        ] {
            assert_eq!(price(status, fields, body), "", "{status} {body}");
        }
    }

    #[test]
    fn a_price_is_bounded_and_one_line() {
        let fields: Vec<_> = (0..100).map(|number| ("crawler-price", format!("USD {number}\r\nx: y"))).collect();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let found = price(402, &fields, "");
        assert!(found.len() <= PRICE_BYTES_MAX && !found.contains(['\r', '\n']), "{found}");
        assert_eq!(price(402, &[("crawler-price", &"9".repeat(1_000))], ""), "crawler-price");
    }
}
