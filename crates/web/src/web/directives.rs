//! Robots directives of a single page: `X-Robots-Tag` headers and `<meta name=robots>`.

/// Restrictions that a page asks of robots. Several sources combine: the most restrictive wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsDirectives {
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not index it.
    pub noindex: bool,
}

impl RobotsDirectives {
    /// Reads a comma-separated list.
    pub(crate) fn of_list(list: &str) -> Self {
        let mut directives = RobotsDirectives::default();
        directives.add(list);
        directives
    }

    /// True if the directive of this name is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.noindex && name.eq_ignore_ascii_case("noindex") || self.nofollow && name.eq_ignore_ascii_case("nofollow")
    }

    /// Adds a comma-separated list of directives.
    pub(in crate::web) fn add(&mut self, list: &str) {
        for directive in names_of(list) {
            let named = |name| directive.eq_ignore_ascii_case(name);
            self.nofollow |= named("nofollow") || named("none");
            self.noindex |= named("noindex") || named("none");
        }
    }
}

/// The directives of a list.
pub(in crate::web) fn names_of(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ' ', '\t', '\n', '\x0c'])
}

/// Directives that have a `:` before their own value, not behind the name of a robot.
pub(in crate::web) const WITH_VALUE: [&str; 4] =
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

/// Returns what the `X-Robots-Tag` headers of an answer ask of us. A value may start with the name of the robot that it
/// is meant for; one without a name, or with `*`, is meant for all.
pub fn x_robots_tag<'a>(values: impl Iterator<Item = &'a str>, agent_token: &str) -> RobotsDirectives {
    let mut directives = RobotsDirectives::default();
    said_by_x_robots_tag(values, agent_token).for_each(|list| directives.add(list));
    directives
}

/// The parts of `X-Robots-Tag` headers that are meant for us, without the names of robots before them.
pub(in crate::web) fn said_by_x_robots_tag<'a>(
    values: impl Iterator<Item = &'a str>,
    agent_token: &str,
) -> impl Iterator<Item = &'a str> {
    values.flat_map(move |value| {
        let mut is_for_us = true;
        value.split(',').filter_map(move |part| {
            let list = match part.split_once(':') {
                Some((name, rest)) if !WITH_VALUE.iter().any(|known| known.eq_ignore_ascii_case(name.trim())) => {
                    let name = name.trim();
                    is_for_us = name == "*" || name.eq_ignore_ascii_case(agent_token);
                    rest
                }
                _ => part,
            };
            is_for_us.then_some(list)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[&str]) -> (bool, bool) {
        let directives = x_robots_tag(values.iter().copied(), "ourbot");
        (directives.nofollow, directives.noindex)
    }

    #[test]
    fn r16_headers_for_other_robots_do_not_concern_us() {
        assert_eq!(found(&["otherbot: noindex, nofollow"]), (false, false));
        assert_eq!(found(&["OurBot: nofollow"]), (true, false));
        assert_eq!(found(&["otherbot: noindex, ourbot: nofollow"]), (true, false));
        assert_eq!(found(&["*: none"]), (true, true));
    }

    #[test]
    fn r16_repeated_headers_combine_and_the_most_restrictive_wins() {
        assert_eq!(found(&["noindex", "NoFollow"]), (true, true));
        assert_eq!(found(&["none", "all", "index, follow"]), (true, true));
        assert_eq!(found(&["otherbot: none", "noindex"]), (false, true));
        assert_eq!(found(&[]), (false, false));
    }

    #[test]
    fn directives_with_values_are_not_names_of_robots() {
        assert_eq!(found(&["unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"]), (true, false));
        assert_eq!(found(&["max-snippet:0, noindex"]), (false, true));
        assert_eq!(found(&["nofollowing, xnoindex"]), (false, false));
    }
}
