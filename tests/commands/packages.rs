//! The content of packages: manual pages and completions for every command, files that exist, and a service that starts
//! the program with options that it has. Packages themselves are built and tried by packaging/check-deb.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns what the program prints.
fn printed(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_crawler")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let listed = help.split("\nCommands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let first =
        |line: &str| line.strip_prefix("  ")?.split(' ').next().filter(|word| !word.is_empty()).map(str::to_owned);
    listed.lines().filter_map(first).collect()
}

#[test]
fn packages_get_a_manual_page_of_every_command_and_completions() {
    let dir = tempfile::tempdir().unwrap();
    let assets = dir.path().join("assets");
    let mut script = Command::new("packaging/assets");
    let output = script.arg(env!("CARGO_BIN_EXE_crawler")).arg(&assets).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let commands = commands();
    assert!(commands.len() > 15 && commands.contains(&"explain".to_owned()), "{commands:?}");
    for page in commands.iter().map(|command| format!("crawler-{command}")).chain(["crawler".to_owned()]) {
        let path = assets.join(format!("man/{page}.1.gz"));
        let mut text = String::new();
        let file = fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
        assert!(text.contains(&format!(".TH {page} 1")) && text.contains(".SH NAME"), "{page}: {text}");
    }
    for script in ["crawler.bash", "_crawler", "crawler.fish"] {
        assert!(fs::read_to_string(assets.join("completions").join(script)).unwrap().contains("explain"), "{script}");
    }
}

#[test]
fn every_file_that_a_package_takes_from_the_repository_is_there() {
    let manifest: toml::Table = fs::read_to_string("Cargo.toml").unwrap().parse().unwrap();
    let package = &manifest["package"];
    let assets = package["metadata"]["deb"]["assets"].as_array().unwrap();
    let sources = assets.iter().map(|asset| asset[0].as_str().unwrap());
    let of_repository: Vec<&str> = sources.filter(|source| !source.starts_with("target/")).collect();
    assert!(of_repository.len() > 5, "{of_repository:?}");
    let included = package["include"].as_array().unwrap().iter().map(|path| path.as_str().unwrap());
    for path in of_repository.into_iter().chain(included) {
        let path = path.trim_start_matches('/').trim_end_matches("*.md");
        assert!(Path::new(path).exists(), "{path} is not there");
    }
}

#[test]
fn the_service_and_the_image_start_the_program_with_options_that_it_has() {
    let help = printed(&["--help"]);
    let unit = fs::read_to_string("packaging/systemd/crawler@.service").unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/crawler ")).unwrap();
    let options: Vec<&str> = start.split(' ').filter(|word| word.starts_with("--")).collect();
    assert_eq!(options, ["--seeds", "--config", "--dir"]);
    assert!(options.iter().all(|option| help.contains(&format!(" {option} "))), "{help}");
    // the codes after which nothing is to be tried again are those of docs/OPERATING.md
    assert!(
        unit.contains("\nSuccessExitStatus=11\n") && unit.contains("\nRestartPreventExitStatus=2 3 6 13\n"),
        "{unit}"
    );
    let reload = unit.lines().find_map(|line| line.strip_prefix("ExecReload=/usr/bin/crawler ")).unwrap();
    let image = fs::read_to_string("Dockerfile").unwrap();
    assert!(image.contains(r#"["/usr/bin/crawler", "ctl", "status", "--dir", "/crawl"]"#), "{image}");
    let ctl = printed(&["ctl", "--help"]);
    assert!(reload.starts_with("ctl reload --dir ") && ctl.contains("  reload ") && ctl.contains("  status "), "{ctl}");
}
