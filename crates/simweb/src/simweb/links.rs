//! The links of a page, with their markup and their spelling.
//!
//! The walk that computes the expected set and the writer of pages ask the same function, so that they cannot
//! disagree about what is linked. Every spelling of a URL parses to the one form in which it is fetched.

use super::host_names::{gone_name, typed_name};
use super::names::{self, address, typed_path};
use super::plan::{Kind, Plan, Purpose, Target};
use super::{farm_kinds, requisites, trap_kinds};

/// The markup of a link in its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    Anchor,
    Area,
    Frame,
    Image,
    Candidates,
    Refresh,
    /// A style sheet, a picture or a frame, by what it is.
    Embedded,
    /// `rel=nofollow`: not to be followed.
    Nofollow,
    /// A link in a comment, which is no link at all.
    Comment,
    /// A link in a string of a script, which is no link at all.
    Script,
}

impl Markup {
    /// Returns whether a crawler follows links with this markup.
    pub(crate) fn followed(self) -> bool {
        !matches!(self, Markup::Nofollow | Markup::Comment | Markup::Script)
    }
}

/// One link of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub target: Target,
    pub markup: Markup,
    /// Chooses the spelling.
    pub spelling: u8,
}

/// The links of a page, in their order. Nothing but pages has links.
pub(super) fn links(plan: &Plan, host: u32, url: u32) -> Vec<Link> {
    let mut dice = plan.dice(Purpose::Links, host, url);
    let mut writer = Links { plan, dice: &mut dice, links: Vec::new() };
    match plan.kind(host, url) {
        Kind::Page | Kind::Flaky => writer.page(host, url),
        Kind::Sealed => writer.sealed(host, url),
        Kind::Duplicate | Kind::Hidden | Kind::Excluded | Kind::Listed => {
            writer.add(Target::Url(host, 0), Markup::Anchor)
        }
        Kind::Redirect | Kind::NotFound | Kind::ServerError => {}
    }
    writer.links
}

/// Returns whether a page forbids to follow its links, whatever their markup.
pub(super) fn sealed(plan: &Plan, host: u32, url: u32) -> bool {
    plan.kind(host, url) == Kind::Sealed
}

struct Links<'a> {
    plan: &'a Plan,
    dice: &'a mut fastrand::Rng,
    links: Vec<Link>,
}

impl Links<'_> {
    fn page(&mut self, host: u32, url: u32) {
        let plan = self.plan;
        if url == 0 {
            for &other in &plan.host(host).hosts {
                self.add_followed(Target::Url(other, 0));
            }
            for &gone in &plan.host(host).gone {
                self.add_followed(Target::Gone(gone));
            }
        }
        for child in plan.children(host, url) {
            match plan.kind(host, child) {
                Kind::Hidden => self.add_hidden(Target::Url(host, child)),
                Kind::Listed => {}
                _ if plan.behind_redirect(host, child) => {}
                _ => self.add_followed(Target::Url(host, child)),
            }
        }
        for &(_, target) in plan.supported_at(host, url) {
            self.add_followed(Target::Url(target, 0));
        }
        for _ in 0..self.dice.usize(0..=2 * plan.options.links) {
            let target = self.random(host);
            self.add_followed(target);
            if self.dice.u8(0..16) == 0 {
                self.add_followed(target);
            }
        }
        for requisite in requisites::of_page(&plan.options, plan.dice(Purpose::Requisites, host, url)) {
            self.links.push(Link { target: Target::Requisite(requisite), markup: Markup::Embedded, spelling: 10 });
        }
        // at the end, so that the other links are the same without them
        for &trap in plan.host(host).traps.iter().filter(|_| url == 0) {
            self.add_followed(Target::Trap(trap));
        }
        for &number in plan.host(host).farms.iter().filter(|_| url == 0) {
            self.add_followed(Target::Farm(number));
        }
    }

    /// A sealed page links its host's root and the hidden pages near it.
    fn sealed(&mut self, host: u32, url: u32) {
        self.add(Target::Url(host, 0), Markup::Anchor);
        let last = self.plan.host(host).len().min(url.saturating_add(20));
        for near in url.saturating_sub(20)..last {
            if self.plan.kind(host, near) == Kind::Hidden {
                self.add(Target::Url(host, near), Markup::Anchor);
            }
        }
    }

    fn random(&mut self, host: u32) -> Target {
        let plan = self.plan;
        if self.dice.f64() >= plan.options.cross_links {
            return plan.any_url(self.dice, plan.host(host).urls.clone());
        }
        match self.dice.u8(0..8) {
            0 if plan.gone > 0 => Target::Gone(self.dice.u32(0..plan.gone)),
            // no domain gets a supporter by lot
            _ if plan.options.domains > 0 => {
                let supported = &plan.host(host).supported;
                let there = self.dice.choice(supported).map_or(host, |&(_, target)| target);
                plan.any_url(self.dice, plan.host(there).urls.clone())
            }
            0..4 => plan.any_root(self.dice),
            _ => plan.any_url(self.dice, 0..plan.len()),
        }
    }

    fn add_followed(&mut self, target: Target) {
        let varied = self.plan.options.varied_markup;
        let markup = match self.dice.u8(0..40) {
            0 if varied => Markup::Area,
            1 if varied => Markup::Frame,
            2 if varied => Markup::Image,
            3 if varied => Markup::Candidates,
            4 if varied => Markup::Refresh,
            _ => Markup::Anchor,
        };
        self.add(target, markup);
    }

    fn add_hidden(&mut self, target: Target) {
        let markup = match self.dice.u8(0..4) {
            0 => Markup::Comment,
            1 => Markup::Script,
            _ => Markup::Nofollow,
        };
        self.add(target, markup);
    }

    fn add(&mut self, target: Target, markup: Markup) {
        self.links.push(Link { target, markup, spelling: self.dice.u8(..) });
    }
}

/// The base against which a page's links are resolved.
pub(super) struct Base<'a> {
    pub plan: &'a Plan,
    pub port: u16,
    /// The page's host.
    pub host: u32,
    /// The path up to its last slash.
    pub directory: &'a str,
}

impl Base<'_> {
    /// The target's URL in full, as it is fetched.
    pub(crate) fn plain(&self, target: Target) -> String {
        address(self.plan, self.port, target)
    }

    /// The target's URL in the spelling of that number; it parses to [`Base::plain`] but for a fragment.
    pub(crate) fn spell(&self, target: Target, spelling: u8) -> String {
        let plain = self.plain(target);
        let (name, path) = match target {
            Target::Url(host, url) => (self.plan.host(host).name.clone(), names::path(self.plan, host, url)),
            Target::Gone(gone) => (gone_name(gone), "/".to_owned()),
            Target::Trap(trap) => (trap_kinds::host_name(trap), "/".to_owned()),
            Target::Farm(number) => (farm_kinds::host_name(number), "/".to_owned()),
            Target::Requisite(_) => return plain,
        };
        let port = self.port;
        match (spelling % 16, matches!(target, Target::Url(host, _) if host == self.host)) {
            (0, _) => format!("HTTP://{}:{port}{path}", name.to_uppercase()),
            (1, _) => format!("//{name}:{port}{path}"),
            (2, _) => format!("{plain}#part-{spelling}"),
            (3, _) => format!(" {plain}\n"),
            (4, _) => format!("http://{}:{port}{}", typed_name(&name), typed_path(&path)),
            (5, _) => format!("http://{name}:{port}/drafts/../.{path}"),
            (6, _) if path == "/" => format!("http://{name}:{port}"),
            (7, true) => format!("/x/y/../%2e%2E{path}"),
            (8, true) => format!("{path}#"),
            (9, true) => typed_path(&path),
            (10 | 11, true) => path,
            (12.., true) => self.relative(&path),
            _ => plain,
        }
    }

    /// The path as seen from the base's directory.
    fn relative(&self, path: &str) -> String {
        let up = self.directory.matches('/').count() - 1;
        match format!("{}{}", "../".repeat(up), &path[1..]) {
            empty if empty.is_empty() => "./".to_owned(),
            relative => relative,
        }
    }
}

/// The directory of a path: up to the last slash before its query.
pub(super) fn directory(path: &str) -> &str {
    let end = path.find('?').unwrap_or(path.len());
    let slash = path[..end].rfind('/').expect("a path starts with a slash");
    &path[..=slash]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simweb::SimOptions;

    #[test]
    fn every_spelling_parses_to_the_form_that_is_fetched() {
        let plan = Plan::new(SimOptions { hosts: 16, pages: 400, ..Default::default() }).unwrap();
        for place in 0..plan.len() {
            let (host, url) = plan.at(place);
            let own = names::path(&plan, host, url);
            let page = url::Url::parse(&address(&plan, 8_080, Target::Url(host, url))).unwrap();
            let base = Base { plan: &plan, port: 8_080, host, directory: directory(&own) };
            for (target, spelling) in (0..=255).map(|n| (plan.at(n * 7 % plan.len()), n as u8)) {
                let target = Target::Url(target.0, target.1);
                let spelt = base.spell(target, spelling);
                let mut parsed = page.join(&spelt).unwrap();
                parsed.set_fragment(None);
                assert_eq!(parsed.as_str(), base.plain(target), "{spelt:?} on {page}");
            }
        }
    }

    #[test]
    fn hidden_pages_are_linked_only_where_nobody_follows() {
        let options =
            SimOptions { hosts: 10, pages: 3_000, hidden_share: 0.2, sealed_share: 0.1, ..Default::default() };
        let plan = Plan::new(options).unwrap();
        let mut hidden = 0;
        for place in 0..plan.len() {
            let (host, url) = plan.at(place);
            for link in links(&plan, host, url) {
                let Target::Url(to_host, to) = link.target else { continue };
                if plan.kind(to_host, to) == Kind::Hidden {
                    assert!(!link.markup.followed() || sealed(&plan, host, url));
                    hidden += 1;
                }
            }
        }
        assert!(hidden > 100);
    }
}
