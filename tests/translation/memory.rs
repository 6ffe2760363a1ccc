//! Answers are pinned: whoever has the pins builds the same rows, without a network.

use super::service::Service;
use super::*;

fn draft(service: &Service) -> Draft<'static> {
    Draft {
        tasks: "qa1 = 3, qa6 = 3, qa16 = 2",
        lengths: &["0k", "2k"],
        pool: 200,
        service: service.keys("google"),
        ..Draft::default()
    }
}

#[test]
fn pins_stand_in_for_the_service() {
    let bench = Bench::new();
    let service = Service::sound();
    let release = build(&bench, &draft(&service), &[]);
    let pins = nihbuild::store::sorted_dir(&release.join("pins/translate")).unwrap();
    assert_eq!(pins.len(), 1);
    assert!(std::fs::read_to_string(release.join("manifest.json")).unwrap().contains("\"translations\""));
    let before = service.requests();

    // Neither a request nor a key is needed; the release, its pins/ and a folder beside the recipe are all found.
    let again = |args: &[&str]| bench.run(&[&["recipe"], args, &["--offline"]].concat()).success().release(&bench);
    let from_release = again(&["r.toml", "--out", "two", "--pins", release.to_str().unwrap()]);
    let from_pins = again(&["r.toml", "--out", "three", "--pins", release.join("pins").to_str().unwrap()]);
    bench.write("elsewhere/r.toml", &draft(&service).text());
    let name = pins[0].file_name().unwrap().to_str().unwrap();
    std::fs::create_dir_all(bench.path("elsewhere/pins/translate")).unwrap();
    std::fs::copy(&pins[0], bench.path("elsewhere/pins/translate").join(name)).unwrap();
    let beside = again(&["elsewhere/r.toml", "--out", "four"]);
    for other in [from_release, from_pins, beside] {
        assert_eq!(bytes_of(&release), bytes_of(&other));
        verified(&bench, &other);
    }
    // Nor by the next build here: first the release is there, then the store knows all answers.
    let there = bench.run(&["recipe", "r.toml", "--offline"]).success();
    assert!(there.out.contains("was built before"), "{}", there.out);
    let bytes = bytes_of(&release);
    std::fs::remove_dir_all(&release).unwrap();
    assert_eq!(bytes, bytes_of(&again(&["r.toml"])));
    assert_eq!(service.requests(), before);
}

#[test]
fn offline_without_pins_says_what_is_missing() {
    let bench = Bench::new();
    let service = Service::sound();
    bench.write("r.toml", &draft(&service).text());
    let said = ["google: ", " translations from en to xx are not known", "--offline forbids asking", "--pins DIR"];
    let failed = bench.run(&["recipe", "r.toml", "--offline"]).failure(2, &said);
    let count: Vec<&str> = failed.err.split_whitespace().take_while(|word| *word != "translations").collect();
    assert!(count.last().unwrap().parse::<u32>().unwrap() > 50, "{}", failed.err);
    assert_eq!(service.requests(), 0);
    assert!(!bench.path("build/mt/1.0.0").exists());
}

#[test]
fn pins_that_are_damaged_or_of_another_service_are_not_used() {
    let bench = Bench::new();
    let service = Service::sound();
    let release = build(&bench, &draft(&service), &[]);
    let pins = release.join("pins");
    let pin = nihbuild::store::sorted_dir(&pins.join("translate")).unwrap().remove(0);
    // Of another model: as if there were none.
    let other = Draft { service: service.keys("google") + "model = \"nmt\"\n", ..draft(&service) };
    bench.write("other.toml", &other.text());
    let args = ["recipe", "other.toml", "--out", "other", "--offline", "--pins", pins.to_str().unwrap()];
    bench.run(&args).failure(2, &["translations from en to xx are not known"]);
    // Cut short: an error, since to ask again costs. Verifying the release finds it too.
    let bytes = std::fs::read(&pin).unwrap();
    std::fs::write(&pin, &bytes[..bytes.len() - 40]).unwrap();
    let before = service.requests();
    let args = ["recipe", "r.toml", "--out", "two", "--pins", pins.to_str().unwrap()];
    run(&bench, &args).failure(2, &[pin.file_name().unwrap().to_str().unwrap(), "fetch the file again"]);
    assert_eq!(service.requests(), before);
    bench.run(&["verify", release.to_str().unwrap()]).failure(1, &["pins/translate"]);
}
