//! Licences of a release: which terms its sources pass on, and whether they go together.
//!
//! The rules are conservative. A prompt puts texts of all sources into one document, so the terms of each must hold for
//! the whole. A licence that asks for more than attribution must stand in the release's own. Nothing here is legal advice.

use crate::error::{Error, Result};
use spdx::expression::{ExprNode, Operator};
use spdx::{Expression, ParseMode};
use std::collections::BTreeMap;

/// What a recipe has whose texts come from outside and which names no licence.
pub const UNSTATED: &str = "LicenseRef-unstated";

/// What a licence asks of those who pass its text on, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Attribution at most.
    pub is_open: bool,
    /// Adaptations carry the same licence.
    pub share_alike: bool,
    /// No commercial use.
    pub non_commercial: bool,
    /// No adaptations at all.
    pub no_derivatives: bool,
}

/// The terms of a licence by its SPDX identifier; none of one that is not known here.
pub fn terms(id: &str) -> Option<Terms> {
    let open = Terms { is_open: true, share_alike: false, non_commercial: false, no_derivatives: false };
    if let Some((marks, _)) = creative_commons(id) {
        let has = |mark: &str| marks.split('-').any(|known| known == mark);
        return Some(Terms {
            is_open: marks == "BY",
            share_alike: has("SA"),
            non_commercial: has("NC"),
            no_derivatives: has("ND"),
        });
    }
    const OPEN: [&str; 11] = [
        "CC0-1.0",
        "PDDL-1.0",
        "Unlicense",
        "0BSD",
        "MIT",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "ODC-By-1.0",
        "CDLA-Permissive-2.0",
    ];
    match id {
        // For research without profit only, by its own page; mMARCO is translated from it.
        "LicenseRef-MS-MARCO" => Some(Terms { is_open: false, non_commercial: true, ..open }),
        "ODbL-1.0" | "GFDL-1.3-only" | "GFDL-1.3-or-later" | "CDLA-Sharing-1.0" => {
            Some(Terms { is_open: false, share_alike: true, ..open })
        }
        _ => OPEN.contains(&id).then_some(open),
    }
}

/// Marks and version of a Creative Commons licence: `BY-SA` and 3.0 as (3, 0).
fn creative_commons(id: &str) -> Option<(&str, (u32, u32))> {
    let rest = id.strip_prefix("CC-")?;
    let digit = rest.find(|c: char| c.is_ascii_digit())?;
    let marks = rest[..digit].strip_suffix('-').filter(|marks| marks.starts_with("BY"))?;
    let version = rest[digit..].split('-').next()?;
    let (major, minor) = version.split_once('.')?;
    Some((marks, (major.parse().ok()?, minor.parse().ok()?)))
}

/// Does a licence that is stated pass on the terms of a source's? The same does, a later one of the same kind, and where
/// attribution is all that is asked for, any that asks for it.
fn passes_on(stated: &str, source: &str) -> bool {
    if stated == source {
        return true;
    }
    match (creative_commons(stated), creative_commons(source)) {
        (Some((_, a)), Some(("BY", b))) => a >= b,
        (Some((x, a)), Some((y, b))) => x == y && a >= b,
        _ => terms(source).is_some_and(|terms| terms.is_open) && creative_commons(source).is_none(),
    }
}

/// Reads an expression such as `CC-BY-SA-3.0 AND LicenseRef-MS-MARCO`.
pub fn parse(text: &str) -> Result<Expression> {
    Expression::parse_mode(text, ParseMode::STRICT).map_err(|e| {
        Error::new(format!("release.licence {text:?} is no expression of SPDX identifiers: {}", e.reason))
            .on("release.licence")
            .help(
                "write one such as CC-BY-4.0, several joined by AND, or LicenseRef-NAME for one that has no identifier",
            )
    })
}

/// The identifiers of an expression, in order, each once.
pub fn identifiers(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for requirement in Expression::parse(text).iter().flat_map(Expression::requirements) {
        let name = requirement.req.to_string();
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// Does an expression pass the terms of a source on? Of licences between which readers may choose, each must.
fn covers(stated: &Expression, source: &str) -> bool {
    let mut stack: Vec<bool> = Vec::new();
    for node in stated.iter() {
        match node {
            ExprNode::Req(requirement) => stack.push(passes_on(&requirement.req.to_string(), source)),
            ExprNode::Op(operator) => {
                let (b, a) = (stack.pop().unwrap_or(false), stack.pop().unwrap_or(false));
                stack.push(match operator {
                    Operator::And => a || b,
                    Operator::Or => a && b,
                });
            }
        }
    }
    stack.pop().unwrap_or(false)
}

/// The licences of all sources as one expression: each that asks for more than attribution, or the one that there is.
pub fn combined<'a>(sources: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut all: Vec<&str> = sources.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    let kept = |id: &&str| !all.iter().any(|other| other != id && passes_on(other, id));
    let kept: Vec<&str> = all.iter().copied().filter(kept).collect();
    (!kept.is_empty()).then(|| kept.join(" AND "))
}

/// Why two licences do not go together in one text, if they do not.
fn conflict(a: &str, b: &str) -> Option<String> {
    let (x, y) = (terms(a)?, terms(b)?);
    if x.no_derivatives {
        return Some(format!("{a} allows no adaptation, and a prompt is one"));
    }
    if x.share_alike && !passes_on(b, a) && !passes_on(a, b) && !y.is_open {
        return Some(match y.non_commercial && !x.non_commercial {
            true => format!("{a} lets nobody forbid what it allows, and {b} forbids commercial use"),
            false => format!("{a} asks for itself alone, and {b} is another"),
        });
    }
    None
}

/// Why the licences of sources do not go together, if they do not.
pub fn conflict_of(sources: &BTreeMap<String, String>) -> Option<String> {
    sources.values().find_map(|a| sources.values().find_map(|b| conflict(a, b)))
}

/// Holds a release's licence against those of its sources, by name of the source. `accepted`: the recipe says that they
/// may conflict.
///
/// # Errors
///
/// An expression that is none; a source whose terms are not passed on; sources that do not go together.
pub fn check(stated: &str, sources: &BTreeMap<String, String>, accepted: bool) -> Result<()> {
    let expression = parse(stated)?;
    let all = sources.values().map(String::as_str);
    for (name, licence) in sources {
        if !covers(&expression, licence) {
            return Err(Error::new(format!(
                "release.licence {stated:?} does not pass on the terms of {name}, which is under {licence}"
            ))
            .on("release.licence")
            .help(format!("write licence = {:?}", combined(all).unwrap_or_default())));
        }
    }
    match conflict_of(sources) {
        Some(what) if !accepted => {
            Err(Error::new(format!("the licences of the sources do not go together: {what}")).on("release.licence").help(
                "use other sources; or, where you have the right to publish them together, say so with allow_conflicting_licences = true under [release]",
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, licence)| ((*name).to_owned(), (*licence).to_owned())).collect()
    }

    #[test]
    fn terms_are_passed_on_or_refused() {
        let babi = sources(&[("babi", "CC-BY-3.0")]);
        for stated in ["CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-4.0", "MIT AND CC-BY-4.0", "CC-BY-NC-4.0"] {
            assert!(check(stated, &babi, false).is_ok(), "{stated}");
        }
        for stated in ["MIT", "CC-BY-2.0", "CC0-1.0", "CC-BY-4.0 OR MIT"] {
            assert!(check(stated, &babi, false).is_err(), "{stated}");
        }
        let squad = sources(&[("mlqa", "CC-BY-SA-3.0")]);
        for (stated, fits) in
            [("CC-BY-SA-3.0", true), ("CC-BY-SA-4.0", true), ("CC-BY-4.0", false), ("CC-BY-NC-SA-4.0", false)]
        {
            assert_eq!(check(stated, &squad, false).is_ok(), fits, "{stated}");
        }
        let open = sources(&[("model", "Apache-2.0")]);
        assert!(check("CC-BY-4.0", &open, false).is_ok());
        for wrong in ["", "CC BY", "CC-BY-5.0", "AND", "CC-BY-4.0 AND", "(MIT"] {
            let said = check(wrong, &BTreeMap::new(), false).unwrap_err().to_string();
            assert!(said.contains("SPDX"), "{said}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused_unless_said() {
        let mixed = sources(&[("mlqa", "CC-BY-SA-3.0"), ("mmarco", "LicenseRef-MS-MARCO")]);
        let stated = "CC-BY-SA-3.0 AND LicenseRef-MS-MARCO";
        let said = check(stated, &mixed, false).unwrap_err().to_string();
        assert!(said.contains("forbids commercial use") && said.contains("allow_conflicting_licences"), "{said}");
        assert!(check(stated, &mixed, true).is_ok());
        // The non-commercial terms are passed on.
        let said = check("CC-BY-SA-3.0", &mixed, true).unwrap_err().to_string();
        assert!(said.contains("mmarco") && said.contains("\"CC-BY-SA-3.0 AND LicenseRef-MS-MARCO\""), "{said}");
        for (a, b, fits) in [
            ("CC-BY-SA-3.0", "CC-BY-SA-4.0", true),
            ("CC-BY-SA-4.0", "ODbL-1.0", false),
            ("CC-BY-SA-4.0", "CC-BY-NC-SA-4.0", false),
            ("CC-BY-SA-4.0", "CC-BY-4.0", true),
            ("CC-BY-SA-4.0", "MIT", true),
            ("CC-BY-4.0", "LicenseRef-MS-MARCO", true),
            ("CC-BY-ND-4.0", "CC-BY-ND-4.0", false),
            ("LicenseRef-x", "CC-BY-SA-4.0", true),
        ] {
            let both = sources(&[("a", a), ("b", b)]);
            let stated = combined([a, b]).unwrap();
            assert_eq!(check(&stated, &both, false).is_ok(), fits, "{a} and {b}");
        }
    }

    #[test]
    fn many_licences_are_one_expression() {
        assert_eq!(combined(["CC-BY-3.0", "CC-BY-SA-4.0", "CC-BY-3.0"]).unwrap(), "CC-BY-SA-4.0");
        assert_eq!(combined(["Apache-2.0", "LicenseRef-MS-MARCO"]).unwrap(), "LicenseRef-MS-MARCO");
        assert_eq!(combined(["LicenseRef-a", "LicenseRef-b"]).unwrap(), "LicenseRef-a AND LicenseRef-b");
        assert_eq!(combined([]), None);
        assert_eq!(identifiers("CC-BY-SA-3.0 AND LicenseRef-MS-MARCO AND CC-BY-SA-3.0").len(), 2);
    }
}
