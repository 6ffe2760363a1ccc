//! Pages in Chromium; skipped with a word where there is none.

use super::driver::Browser;
use super::support::*;
use super::{hostile, scored};
use crate::support::*;
use std::path::PathBuf;

trait Fits {
    fn fits(&mut self, width: u32);
}

impl Fits for Browser {
    /// The page is not wider than the window.
    #[track_caller]
    fn fits(&mut self, width: u32) {
        let found = self.value(
            "JSON.stringify([Math.max(document.documentElement.scrollWidth, innerWidth), Array.from(document.querySelectorAll('body *')).filter(function (e) { \
             return e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.wide,nav,pre,.skip') }).slice(0, 3)\
             .map(function (e) { return e.outerHTML.slice(0, 200) })])",
        );
        assert_eq!(found.as_str().unwrap(), format!("[{width},[]]"));
    }
}

#[test]
fn a_page_is_quiet_and_fits_every_window() {
    let Some(mut browser) = Browser::start("a_page_is_quiet_and_fits_every_window") else { return };
    for make in [stories as fn(&Bench) -> PathBuf, passages, needles] {
        let bench = Bench::new();
        let release = make(&bench);
        bench.write(
            "a.jsonl",
            &scored::lines(&release, &mut |_, row| {
                Some(format!("\"exact\": {}, \"mark\": {}", row % 2 == 0, row % 5 + 1))
            }),
        );
        for flags in [&[][..], &["--scores", "a.jsonl"][..]] {
            page(&bench, &release, flags);
            for (width, dark) in [(1280, false), (1280, true), (360, false)] {
                browser.window(width, 800, dark);
                browser.open(&bench.path("page.html"));
                browser.quiet();
                browser.fits(width);
                browser.value("document.querySelectorAll('details').forEach(function (d) { d.open = true })");
                browser.fits(width);
                browser.quiet();
            }
        }
    }
}

#[test]
fn two_languages_stand_beside_each_other() {
    let Some(mut browser) = Browser::start("two_languages_stand_beside_each_other") else { return };
    let bench = Bench::new();
    let release = in_all_languages(&bench);
    page(&bench, &release, &[]);
    browser.window(1280, 900, false);
    browser.open(&bench.path("page.html"));
    // The ids that are seen in the first sample, from left to right.
    let seen = "Array.from(document.querySelectorAll('details[open] article')).filter(function (a) { return a.offsetWidth > 0 })\
                .sort(function (a, b) { return a.getBoundingClientRect().left - b.getBoundingClientRect().left })\
                .map(function (a) { return a.querySelector('code').textContent.split('-')[2] }).join(' ')";
    assert_eq!(browser.value(seen), "en ar");
    let tops = "(function () { var a = document.querySelectorAll('details[open] .left,details[open] .right'); \
                return a.length === 2 && a[0].getBoundingClientRect().top === a[1].getBoundingClientRect().top })()";
    assert_eq!(browser.value(tops), true);
    let choose = |side: usize, language: &str| {
        format!(
            "(function () {{ var s = document.querySelectorAll('#pick select')[{side}]; \
             s.value = Array.from(s.options).filter(function (o) {{ return o.text.indexOf('({language})') > 0 }})[0].value; \
             s.dispatchEvent(new Event('change', {{ bubbles: true }})) }})()"
        )
    };
    browser.value(&choose(0, "hi"));
    assert_eq!(browser.value(seen), "hi ar");
    browser.value(&choose(1, "zh"));
    assert_eq!(browser.value(seen), "hi zh");
    browser.value("document.getElementById('swap').click()");
    assert_eq!(browser.value(seen), "zh hi");
    browser.value(&choose(1, "ar"));
    let direction = "JSON.stringify(Array.from(document.querySelectorAll('.right .ctx p')).filter(function (p) { return p.offsetWidth > 0 })\
                     .map(function (p) { return getComputedStyle(p).direction }).filter(function (d, n, all) { return all.indexOf(d) === n }))";
    assert_eq!(browser.value(direction), "[\"rtl\"]");
    assert_eq!(browser.value(&direction.replace("right", "left")), "[\"ltr\"]");
    // A line of Arabic begins at its right end.
    let right = "(function () { var p = document.querySelector('details[open] .right .ctx p'), r = document.createRange(); \
                 r.selectNodeContents(p); return p.getBoundingClientRect().right - r.getBoundingClientRect().right < 2 })()";
    assert_eq!(browser.value(right), true);
    browser.quiet();
}

#[test]
fn the_theme_follows_the_system_and_the_button() {
    let Some(mut browser) = Browser::start("the_theme_follows_the_system_and_the_button") else { return };
    let bench = Bench::new();
    page(&bench, &needles(&bench), &[]);
    let back = "getComputedStyle(document.body).backgroundColor";
    let series = "getComputedStyle(document.querySelector('svg rect[fill=\"var(--s0)\"]')).fill";
    let (light, dark) = (("rgb(255, 255, 255)", "rgb(0, 114, 178)"), ("rgb(20, 22, 26)", "rgb(92, 179, 230)"));
    browser.window(1280, 800, true);
    browser.open(&bench.path("page.html"));
    assert_eq!((browser.value(back), browser.value(series)), (dark.0.into(), dark.1.into()));
    for expected in [light, dark, dark] {
        browser.value("document.getElementById('theme').click()");
        assert_eq!((browser.value(back), browser.value(series)), (expected.0.into(), expected.1.into()));
    }
    browser.window(1280, 800, false);
    assert_eq!(browser.value(back), light.0);
    browser.quiet();
}

#[test]
fn hostile_text_does_nothing() {
    let Some(mut browser) = Browser::start("hostile_text_does_nothing") else { return };
    let bench = Bench::new();
    let release = hostile::release(&bench);
    bench.write("a.jsonl", &scored::lines(&release, &mut |_, _| Some("\"exact\": true".to_owned())));
    page(&bench, &release, &["--scores", &format!("{}=a.jsonl", hostile::NAME)]);
    browser.window(1280, 800, false);
    browser.open(&bench.path("page.html"));
    assert_eq!(browser.value("typeof window.owned"), "undefined");
    assert_eq!(browser.value("document.images.length + document.scripts.length"), 1);
    assert_eq!(browser.value("document.body.offsetHeight > 500"), true);
    browser.quiet();
}

#[test]
fn the_page_of_an_audit_is_quiet_and_fits() {
    let Some(mut browser) = Browser::start("the_page_of_an_audit_is_quiet_and_fits") else { return };
    let bench = Bench::new();
    let long = "word".repeat(200);
    // A note names the file.
    let name = format!("{}.jsonl", "a_set_of_a_long_name_".repeat(6));
    bench.write(
        &name,
        &format!("{{\"prompt\": \"<context>{long}</script>\", \"answers\": [\"gone\"], \"id\": \"{long}\"}}\n"),
    );
    bench.run(&["audit", &name, "--html", "audit.html"]);
    assert!(bench.path("audit.html").is_file());
    for (width, dark) in [(1280, false), (360, true)] {
        browser.window(width, 800, dark);
        browser.open(&bench.path("audit.html"));
        browser.value("document.querySelectorAll('details').forEach(function (d) { d.open = true })");
        browser.quiet();
        browser.fits(width);
    }
}
