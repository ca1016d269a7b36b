//! The plot: freshness by day, as SVG that is read on light and dark ground.

use std::fmt::Write;

use crate::run::Day;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
/// Left, top, right, bottom.
const MARGINS: [f64; 4] = [52.0, 44.0, 168.0, 44.0];

const STYLE: &str = "text{font:13px sans-serif;fill:#333}.grid{stroke:#ccc}.axis{stroke:#333}\
    .c0{stroke:#888;fill:none;stroke-dasharray:6 4}.c1{stroke:#0b66c3;fill:none}.c2{stroke:#a86400;fill:none}\
    .adaptive{stroke:#c3260b;fill:none;stroke-width:2.5}\
    @media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.axis{stroke:#ddd}.c0{stroke:#aaa}\
    .c1{stroke:#6bb1ff}.c2{stroke:#f0b050}.adaptive{stroke:#ff7a5c}}";

/// The freshness of the days beside levels of other policies.
pub fn freshness(days: &[Day], levels: &[(&str, f64); 3]) -> String {
    let (left, top) = (MARGINS[0], MARGINS[1]);
    let (right, bottom) = (WIDTH - MARGINS[2], HEIGHT - MARGINS[3]);
    let values = || days.iter().skip(1).map(|day| day.freshness).chain(levels.iter().map(|level| level.1));
    let least = (values().fold(1.0, f64::min) * 20.0).floor() / 20.0;
    let most = (values().fold(0.0, f64::max) * 20.0).ceil() / 20.0;
    let x = |day: f64| left + (right - left) * day / days.len() as f64;
    let y = |value: f64| bottom - (bottom - top) * (value - least) / (most - least);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
         <title>Freshness of an archive by day, at equal numbers of requests</title>\n<style>{STYLE}</style>\n\
         <text x=\"{left}\" y=\"20\">Share of pages that are fresh, by day; as many requests for each policy</text>\n"
    );
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(svg, "{text}").expect("a string grows");
    for step in 0..=((most - least) * 20.0).round() as usize {
        let value = least + step as f64 / 20.0;
        let at = y(value);
        line(format_args!("<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>"));
        line(format_args!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>", left - 6.0, at + 4.0));
    }
    for day in (0..=days.len()).step_by(30) {
        let at = x(day as f64);
        line(format_args!("<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{day}</text>", bottom + 18.0));
    }
    line(format_args!("<path class=\"axis\" d=\"M{left} {bottom}H{right}\"/>"));
    line(format_args!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">days</text>",
        (left + right) / 2.0,
        bottom + 36.0
    ));
    for (number, (name, value)) in levels.iter().enumerate() {
        let at = y(*value);
        line(format_args!("<path class=\"c{number}\" d=\"M{left} {at:.1}H{right}\"/>"));
        line(format_args!("<text x=\"{}\" y=\"{:.1}\">{name}</text>", right + 6.0, at + 4.0));
    }
    let points = days.iter().enumerate().skip(1);
    let path: String = points.map(|(day, it)| format!("{:.1},{:.1} ", x(day as f64 + 0.5), y(it.freshness))).collect();
    line(format_args!("<polyline class=\"adaptive\" points=\"{}\"/>", path.trim_end()));
    let last = days.last().map_or(most, |day| day.freshness);
    line(format_args!("<text x=\"{}\" y=\"{:.1}\">adaptive</text>", right + 6.0, y(last) + 18.0));
    svg.push_str("</svg>\n");
    svg
}
