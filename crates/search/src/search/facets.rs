//! Counts of the pages that a question finds, by host, media type, language, kind and month.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use super::fields::Fields;

/// Values of a facet that are answered: the most frequent ones.
const VALUES_MAX: usize = 50;

/// A value, and the number of pages with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facet {
    /// The value. A page without one has an empty text.
    pub value: String,
    /// Pages with it.
    pub count: u64,
}

/// The most frequent values among the pages that were found, near duplicates included: the most frequent first, and
/// years and months in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facets {
    /// Hosts.
    pub hosts: Vec<Facet>,
    /// Media types.
    pub types: Vec<Facet>,
    /// Languages by their names in ISO 639-3.
    pub languages: Vec<Facet>,
    /// Kinds of answers.
    pub kinds: Vec<Facet>,
    /// Years of the captures: `2026`.
    pub years: Vec<Facet>,
    /// Months of the captures: `2026-11`.
    pub months: Vec<Facet>,
}

/// Counts the facets.
pub(super) struct FacetCollector;

/// The counts of some segments.
#[derive(Default)]
pub(super) struct Counts {
    values: [HashMap<String, u64>; Fields::COUNTED.len()],
    months: BTreeMap<u64, u64>,
}

/// The counts of one segment, by the numbers of its values.
pub(super) struct OfSegment {
    columns: Vec<Option<StrColumn>>,
    values: Vec<HashMap<u64, u64>>,
    month: Column<u64>,
    months: BTreeMap<u64, u64>,
}

impl Collector for FacetCollector {
    type Fruit = Counts;
    type Child = OfSegment;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<OfSegment> {
        let columns = Fields::COUNTED.map(|name| segment.fast_fields().str(name));
        Ok(OfSegment {
            columns: columns.into_iter().collect::<tantivy::Result<_>>()?,
            values: vec![HashMap::new(); Fields::COUNTED.len()],
            month: segment.fast_fields().u64(Fields::MONTH)?,
            months: BTreeMap::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, fruits: Vec<tantivy::Result<Counts>>) -> tantivy::Result<Counts> {
        let mut all = Counts::default();
        for counts in fruits {
            let counts = counts?;
            for (sum, values) in all.values.iter_mut().zip(counts.values) {
                values.into_iter().for_each(|(value, count)| *sum.entry(value).or_default() += count);
            }
            counts.months.into_iter().for_each(|(month, count)| *all.months.entry(month).or_default() += count);
        }
        Ok(all)
    }
}

impl SegmentCollector for OfSegment {
    type Fruit = tantivy::Result<Counts>;

    fn collect(&mut self, document: DocId, _: Score) {
        for (column, counts) in self.columns.iter().zip(&mut self.values) {
            let value = column.as_ref().and_then(|column| column.term_ords(document).next());
            value.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
        }
        self.month.first(document).into_iter().for_each(|month| *self.months.entry(month).or_default() += 1);
    }

    fn harvest(self) -> tantivy::Result<Counts> {
        let mut counts = Counts { months: self.months, ..Counts::default() };
        for ((column, found), values) in self.columns.into_iter().zip(self.values).zip(&mut counts.values) {
            let Some(column) = column else { continue };
            for (number, count) in found {
                let mut value = String::new();
                if column.ord_to_str(number, &mut value)? {
                    values.insert(value, count);
                }
            }
        }
        Ok(counts)
    }
}

impl From<Counts> for Facets {
    fn from(counts: Counts) -> Facets {
        let [hosts, types, languages, kinds] = counts.values.map(|counts| {
            let mut facets: Vec<_> = counts.into_iter().map(|(value, count)| Facet { value, count }).collect();
            facets.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.value.cmp(&other.value)));
            facets.truncate(VALUES_MAX);
            facets
        });
        let mut years: BTreeMap<u64, u64> = BTreeMap::new();
        counts.months.iter().for_each(|(month, count)| *years.entry(month / 100).or_default() += count);
        let years = years.into_iter().map(|(year, count)| Facet { value: year.to_string(), count }).collect();
        let month = |(month, count)| Facet { value: format!("{}-{:02}", month / 100, month % 100), count };
        Facets { hosts, types, languages, kinds, years, months: counts.months.into_iter().map(month).collect() }
    }
}
