//! `crawler identity`: keys that are made once and take over from one another, their directory, and the page.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(line.split_whitespace()).current_dir(dir).output().unwrap()
}

#[track_caller]
fn prints(dir: &Path, line: &str) -> String {
    let output = run(dir, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns what a command that cannot be carried out says.
#[track_caller]
fn refused(dir: &Path, line: &str) -> String {
    let output = run(dir, line);
    assert_eq!(output.status.code(), Some(2), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

/// The key directory as JSON.
fn keys(dir: &Path) -> Vec<serde_json::Value> {
    let json = fs::read(dir.join("keys/http-message-signatures-directory")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&json).unwrap()["keys"].as_array().unwrap().clone()
}

#[test]
fn a_key_is_made_once_and_another_takes_over_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let said = prints(dir, "identity init --dir keys --agent https://bot.example");
    for words in [
        "serve keys/http-message-signatures-directory as \
         https://bot.example/.well-known/http-message-signatures-directory",
        "Content-Type: application/http-message-signatures-directory+json",
        "signature_agent = \"https://bot.example\"",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    let mode = |name: &str| fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("keys/key.pem"), 0o600);
    let (pem, first) = (fs::read(dir.join("keys/key.pem")).unwrap(), keys(dir));
    assert!(refused(dir, "identity init --dir keys").contains("exists already and was not changed"));
    assert!(refused(dir, "identity init --agent http://bot.example").contains("https origin"));
    assert_eq!(fs::read(dir.join("keys/key.pem")).unwrap(), pem);
    // what is printed can be pasted
    let pasted: String =
        said.split("settings:\n").nth(1).unwrap().lines().map(|line| format!("{}\n", line.trim())).collect();
    fs::write(dir.join("my.toml"), pasted).unwrap();
    let checked = prints(dir, "identity show --dir keys --config my.toml");
    assert!(checked.contains("without end  keys/key.pem") && checked.contains("is in the key directory"), "{checked}");
    let said = prints(dir, "identity rotate --dir keys --overlap 2d");
    assert_eq!(mode("keys/key-2.pem"), 0o600);
    let both = keys(dir);
    assert_eq!((both.len(), &both[0]["kid"]), (2, &first[0]["kid"]));
    let second = both[1]["kid"].as_str().unwrap();
    assert!(said.contains(second) && both[1].get("exp").is_none(), "{said}");
    assert_eq!(both[0]["exp"].as_u64().unwrap() - both[1]["nbf"].as_u64().unwrap(), 2 * 86_400);
    assert!(prints(dir, "identity show --dir keys").contains("  until 20"));
    // one that ended leaves with the next key
    let json = fs::read_to_string(dir.join("keys/http-message-signatures-directory")).unwrap();
    let ended = json.replace(&both[0]["exp"].to_string(), "1000");
    fs::write(dir.join("keys/http-message-signatures-directory"), ended).unwrap();
    let output = run(dir, "identity show --dir keys --config my.toml");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("does not hold now"), "{said}");
    prints(dir, "identity rotate --dir keys");
    let kids: Vec<String> = keys(dir).iter().map(|key| key["kid"].to_string()).collect();
    assert!(kids.len() == 2 && kids[0].contains(second), "{kids:?}");
}

#[test]
fn the_fields_of_the_answer_are_of_the_keys_that_hold() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert!(refused(dir, "identity response --agent https://bot.example").contains("crawler identity init makes it"));
    prints(dir, "identity init --dir keys");
    let said = prints(dir, "identity response --dir keys --agent https://bot.example --valid 7d");
    assert!(said.contains("\nSignature-Input: binding0=(\"@authority\";req \"content-digest\");created="), "{said}");
    assert!(refused(dir, "identity response --dir keys --agent bot.example").contains("https origin"));
    let nginx = prints(dir, "identity response --dir keys --agent https://bot.example --form nginx");
    assert!(nginx.starts_with("location = /.well-known/http-message-signatures-directory {\n"), "{nginx}");
    assert!(nginx.contains("    add_header Signature 'binding0=:") && nginx.ends_with("}\n"), "{nginx}");
    fs::write(dir.join("keys/http-message-signatures-directory"), "{\"keys\":[]}").unwrap();
    let none = refused(dir, "identity response --dir keys --agent https://bot.example");
    assert!(none.contains("no private key here is of a key in the key directory"), "{none}");
    fs::write(dir.join("keys/http-message-signatures-directory"), "{").unwrap();
    assert!(refused(dir, "identity show --dir keys").contains("keys/http-message-signatures-directory: "));
}

#[test]
fn the_page_has_what_the_settings_and_the_command_line_say() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("my.toml"), "[crawl]\nuser_agent = \"mybot/3\"\ncontact = \"bot@example.org\"\n").unwrap();
    let page = prints(dir, "identity page --config my.toml --address 192.0.2.7 --address ::1 --about News");
    for words in ["<h1>mybot</h1>", "mailto:bot@example.org", "192.0.2.7", "::1", "<p>News</p>", "User-agent: mybot\n"]
    {
        assert!(page.contains(words), "{words:?} is not in\n{page}");
    }
    prints(dir, "identity page --config my.toml --output bot.html");
    assert!(fs::read_to_string(dir.join("bot.html")).unwrap().contains("<title>mybot: about this bot</title>"));
}
