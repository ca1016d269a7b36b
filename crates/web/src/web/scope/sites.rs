//! Settings of the scope that are different for some sites.

use regex::Regex;

use super::{ScopeError, SiteScope, compile};
use crate::web::site::SiteIndex;

/// The tables of sites that say anything of the scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Sites {
    index: SiteIndex,
    tables: Vec<Table>,
}

#[derive(Clone, Debug)]
struct Table {
    include: Option<Vec<Regex>>,
    exclude: Option<Vec<Regex>>,
    max_depth: Option<Option<u16>>,
}

/// Settings for a URL by the tables of sites; none where only those for all hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfUrl<'a> {
    pub include: &'a [Regex],
    pub exclude: &'a [Regex],
    pub max_depth: Option<Option<u16>>,
}

impl Sites {
    pub(super) fn compile(sites: &[SiteScope]) -> Result<Sites, ScopeError> {
        let says = |site: &&SiteScope| site.include.is_some() || site.exclude.is_some() || site.max_depth.is_some();
        let sites: Vec<&SiteScope> = sites.iter().filter(says).collect();
        let list = |name, list: &Option<Vec<String>>| list.as_ref().map(|list| compile(name, list)).transpose();
        let table = |site: &&SiteScope| {
            let (include, exclude) = (list("include", &site.include)?, list("exclude", &site.exclude)?);
            Ok(Table { include, exclude, max_depth: site.max_depth })
        };
        let tables = sites.iter().map(table).collect::<Result<_, _>>()?;
        let index = SiteIndex::new(sites.iter().map(|site| site.matches.clone()).collect());
        Ok(Sites { index, tables })
    }

    /// Returns the settings for `url`, in the fetch form: each by the first table that has it.
    pub(super) fn of(&self, url: &str) -> OfUrl<'_> {
        if self.index.is_empty() {
            return OfUrl::default();
        }
        let numbers = self.index.of_url(url);
        let tables = || numbers.iter().map(|&number| &self.tables[usize::from(number)]);
        OfUrl {
            include: tables().find_map(|table| table.include.as_deref()).unwrap_or_default(),
            exclude: tables().find_map(|table| table.exclude.as_deref()).unwrap_or_default(),
            max_depth: tables().find_map(|table| table.max_depth),
        }
    }
}
