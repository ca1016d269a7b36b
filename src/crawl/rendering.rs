//! Rendering, as the settings want it: whether a browser is there, and its options.
//!
//! A crawl that is to render and finds no browser goes on without, and says so once: its pages come as they are served.

use std::path::Path;

use super::CrawlError;
use crate::browser::{self, BrowserOptions, PictureFormat, Program, RenderOptions, Screenshot};
use crate::config::{Config, Pictures};
use crate::contract::RenderMode;
use crate::engine::{RenderSettings, RenderVerdict};
use crate::frontier::RequisitePace;
use crate::process::ProcessOptions;
use crate::render::RenderExecutorOptions;

/// Returns the mode that the sections of `config` set: which pages are rendered.
pub(super) fn mode(config: &Config) -> RenderMode {
    config.render.mode
}

/// Says whether a page is rendered by a crawl with this mode that has learnt this of its pattern; `None` where no page
/// is.
pub(super) fn explained(mode: RenderMode, learnt: Option<RenderVerdict>) -> Option<&'static str> {
    match (mode, learnt) {
        (RenderMode::Off, _) => None,
        (RenderMode::Always, _) => Some("always, if it is a page of HTML"),
        (RenderMode::Needed, Some(RenderVerdict::Needed)) => Some("yes: pages of its pattern show more so"),
        (RenderMode::Needed, Some(RenderVerdict::NotNeeded)) => {
            Some("no, but for samples: pages of its pattern show no more so")
        }
        (RenderMode::Needed, _) => Some(
            "if it looks as if its scripts made it, or to see what its pattern shows: no page of it was rendered yet",
        ),
    }
}

/// True if any page may be rendered.
fn is_wanted(config: &Config) -> bool {
    let of_sites = config.site.iter().filter_map(|site| site.render);
    of_sites.chain([config.render.mode]).any(|mode| mode != RenderMode::Off)
}

/// The browser, where one is wanted and there.
pub(super) fn browser(config: &Config) -> Result<Option<Program>, CrawlError> {
    if !is_wanted(config) {
        return Ok(None);
    }
    let named = (!config.render.program.is_empty()).then(|| Path::new(&config.render.program));
    match (browser::find(named), named) {
        (Some(program), _) => Ok(Some(program)),
        (None, Some(named)) => {
            Err(CrawlError::Usage(format!("render.program: {} is no browser that runs", named.display())))
        }
        (None, None) => {
            tracing::warn!(
                "render.mode wants pages rendered, and no browser is on PATH: pages are stored as they are served, and \
                 what their scripts would add is missing; install chromium, or name one in render.program"
            );
            Ok(None)
        }
    }
}

/// Returns the settings by which the engine decides about renderings.
pub(super) fn settings(config: &Config) -> RenderSettings {
    let render = &config.render;
    RenderSettings {
        mode: render.mode,
        is_on: is_wanted(config),
        pages: render.pages,
        pace: RequisitePace { delay: render.delay, connections: render.connections_per_host },
        obey_robots: render.obey_robots,
        requests_max: u32::try_from(render.max_requests).unwrap_or(u32::MAX),
    }
}

/// Returns the options by which the executor renders with `program`.
pub(super) fn executor(config: &Config, program: Program, process: ProcessOptions) -> RenderExecutorOptions {
    let render = &config.render;
    let screenshot = match render.screenshot {
        Pictures::Off => None,
        Pictures::Window => Some(false),
        Pictures::Page => Some(true),
    };
    let at_most = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    RenderExecutorOptions {
        browsers: BrowserOptions {
            program: Some(program.path),
            processes: render.pages,
            pages_max: at_most(render.pages_per_browser),
            // not in the crawl directory, which may be on a slow disk
            temporary_dir: std::env::temp_dir(),
            allow_unsandboxed: render.allow_unsandboxed,
            ..BrowserOptions::default()
        },
        page: RenderOptions {
            user_agent: config.user_agent(),
            accept_language: config.fetch.accept_language.clone(),
            deadline: render.deadline,
            memory_max: render.memory.get(),
            requests_max: at_most(render.max_requests),
            bytes_max: render.max_bytes.get(),
            links_max: config.scope.max_links_per_page,
            scrolls_max: at_most(render.scroll),
            consent: render.consent,
            click: render.click.clone(),
            screenshot: screenshot.map(|is_full| Screenshot { format: PictureFormat::Png, is_full }),
            pdf: render.pdf,
            ..RenderOptions::default()
        },
        pages: render.pages,
        kept_bytes: render.cache.as_usize(),
        kept_for: render.cache_time,
        process,
    }
}
