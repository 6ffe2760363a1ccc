//! The report: what it says of releases of every family and format, scores, plots, hostile text, and a real browser.

#[path = "page/browser.rs"]
mod browser;
#[path = "page/content.rs"]
mod content;
#[path = "page/driver.rs"]
mod driver;
#[path = "page/hostile.rs"]
mod hostile;
#[path = "page/scored.rs"]
mod scored;
#[path = "page/support.rs"]
mod support;
