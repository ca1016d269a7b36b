//! Browsers and renderers that are killed, stopped, replaced; and a crawler that is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crawler::browser::{BrowserOptions, Browsers, RenderFailure, RenderOptions};
use rustix::process::Signal;

use crate::network::{Answer, Web};
use crate::processes::{self, Process, wait_for, wait_for_end};
use crate::{ALONE, Test, options, program};

const URL: &str = "https://site.example/";
/// Environment variables with the directory of profiles for the process that is killed, and with its page.
const DIR: &str = "BROWSER_TEST_DIR";
const PAGE: &str = "BROWSER_TEST_PAGE";

/// A directory that a browser can go into that is another user's.
pub fn open_dir() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

async fn start_in(dir: &Path, options: BrowserOptions) -> Option<Test> {
    Test::start_with(BrowserOptions { temporary_dir: dir.to_owned(), ..options }).await
}

/// Renders a page that is not over before something was done to its processes.
async fn meanwhile(test: &Test, dir: &Path, act: impl FnOnce(&Path) + Send + 'static) -> RenderFailure {
    let web = Web::of(&[(URL, Answer::html("<p>here<img src=/never>")), ("https://site.example/never", Answer::Never)]);
    let (dir, seen) = (dir.to_owned(), web.clone());
    let acting = tokio::task::spawn_blocking(move || {
        wait_for("the picture of the page", || seen.was_asked("https://site.example/never").then_some(()));
        act(&dir);
    });
    let options = RenderOptions { deadline: Duration::from_secs(6), ..options() };
    let failure = test.render(&web, URL, &options).await.unwrap_err();
    acting.await.unwrap();
    failure
}

async fn renders(test: &Test) {
    let web = Web::of(&[(URL, Answer::html("<p>all is well"))]);
    assert!(test.rendered(&web, URL, &options()).await.dom.contains("all is well"));
}

fn renderers(dir: &Path) -> Vec<Process> {
    processes::of(dir).into_iter().filter(Process::is_renderer).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_is_killed_fails_its_page_and_the_next_page_gets_another_one() {
    let dir = open_dir();
    let Some(test) = start_in(dir.path(), BrowserOptions::default()).await else { return };
    let times = std::env::var("BROWSER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    for _ in 0..times {
        let failure = meanwhile(&test, dir.path(), |dir| processes::browser(dir).kill(Signal::KILL)).await;
        assert_eq!(failure, RenderFailure::Crashed);
        renders(&test).await;
    }
    let all = processes::of(dir.path());
    test.close().await;
    wait_for_end(&all);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renderer_that_is_killed_or_stopped_fails_its_page_alone() {
    let dir = open_dir();
    let Some(test) = start_in(dir.path(), BrowserOptions::default()).await else { return };
    let failure = meanwhile(&test, dir.path(), |dir| renderers(dir).iter().for_each(|r| r.kill(Signal::KILL))).await;
    assert_eq!(failure, RenderFailure::Crashed);
    let browser = processes::browser(dir.path());
    renders(&test).await;
    assert_eq!(processes::browser(dir.path()).pid, browser.pid);
    let failure = meanwhile(&test, dir.path(), |dir| renderers(dir).iter().for_each(|r| r.kill(Signal::STOP))).await;
    assert_eq!(failure, RenderFailure::Hung);
    renders(&test).await;
    // who hung once is replaced, stopped processes and all
    wait_for_end(std::slice::from_ref(&browser));
    let all = processes::of(dir.path());
    test.close().await;
    wait_for_end(&all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_is_stopped_is_killed() {
    let dir = open_dir();
    let Some(test) = start_in(dir.path(), BrowserOptions::default()).await else { return };
    let failure = meanwhile(&test, dir.path(), |dir| processes::browser(dir).kill(Signal::STOP)).await;
    assert!(matches!(failure, RenderFailure::Hung | RenderFailure::Crashed), "{failure}");
    renders(&test).await;
    let all = processes::of(dir.path());
    test.close().await;
    wait_for_end(&all);
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_are_replaced_after_their_pages_and_leave_nothing() {
    let dir = open_dir();
    let options = BrowserOptions { pages_max: 2, ..BrowserOptions::default() };
    let Some(test) = start_in(dir.path(), options).await else { return };
    let mut seen: Vec<Process> = Vec::new();
    for _ in 0..5 {
        renders(&test).await;
        let all = processes::of(dir.path());
        seen.extend(all.into_iter().filter(|process| !seen.contains(process)).collect::<Vec<_>>());
    }
    let profiles = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(profiles, 1);
    test.close().await;
    wait_for_end(&seen);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_that_is_given_up_closes_its_page() {
    let dir = open_dir();
    let Some(test) = start_in(dir.path(), BrowserOptions::default()).await else { return };
    renders(&test).await;
    let idle = renderers(dir.path()).len();
    let web = Web::of(&[(URL, Answer::html("<p>here<img src=/never>")), ("https://site.example/never", Answer::Never)]);
    {
        let options = options();
        let render = test.browsers.render(URL, "test", &options, web.clone());
        let seen = web.clone();
        let asked = tokio::task::spawn_blocking(move || {
            wait_for("the picture of the page", || seen.was_asked("https://site.example/never").then_some(()));
        });
        tokio::select! {
            _ = render => unreachable!("the page is never quiet"),
            _ = asked => {}
        }
    }
    let path = dir.path().to_owned();
    wait_for("the end of its renderer", || (renderers(&path).len() <= idle).then_some(()));
    renders(&test).await;
    test.close().await;
}

/// The process that is killed, which is not a test by itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process that other tests start and kill"]
async fn renders_until_it_is_killed() {
    let (Some(dir), Ok(page)) = (std::env::var_os(DIR).map(PathBuf::from), std::env::var(PAGE)) else { return };
    let options = BrowserOptions { program: program(), temporary_dir: dir.clone(), ..BrowserOptions::default() };
    let browsers = Browsers::new(options);
    let web = Web::by(move |asked| match asked.url.as_str() {
        URL => Some(Answer::html(&page)),
        _ => Some(Answer::Never),
    });
    let options = RenderOptions { deadline: Duration::from_secs(600), ..crate::options() };
    let render = browsers.render(URL, "test", &options, web.clone());
    let told = tokio::task::spawn_blocking(move || {
        wait_for("the picture of the page", || web.was_asked("https://site.example/never").then_some(()));
        std::fs::write(dir.join("ready"), "").unwrap();
    });
    let (rendered, _) = tokio::join!(render, told);
    panic!("{rendered:?}");
}

/// Starts this program as the process that is killed, with `path` as its `PATH`.
fn start_victim(dir: &Path, page: &str, path: Option<&Path>) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ends::renders_until_it_is_killed", "--ignored", "--nocapture"]);
    command.env(DIR, dir).env(PAGE, page).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("BROWSER_PROGRAM", program().unwrap());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let child = command.spawn().unwrap();
    wait_for("the page", || dir.join("ready").exists().then_some(()));
    child
}

/// Kills a crawler with SIGKILL while it renders `page`, with something done to the browser before.
fn kill_crawler(page: &str, path: Option<&Path>, act: impl FnOnce(&[Process])) {
    let dir = open_dir();
    let mut victim = start_victim(dir.path(), page, path);
    let all = processes::of(dir.path());
    assert!(all.iter().any(Process::is_renderer), "{all:#?}");
    act(&all);
    victim.kill().unwrap();
    victim.wait().unwrap();
    let begin = Instant::now();
    wait_for_end(&all);
    println!("{} processes ended within {:?}", all.len(), begin.elapsed());
    assert_eq!(processes::of(dir.path()), []);
}

/// A directory with links to the commands that a browser needs to start, but for `without`.
pub fn commands(without: &[&str]) -> tempfile::TempDir {
    let dir = open_dir();
    for name in
        ["sh", "setpriv", "unshare", "true", "uname", "grep", "findmnt", "ls", "tr", "cut", "find", "expr", "test"]
    {
        let path = std::env::var_os("PATH").unwrap();
        let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.exists());
        if let Some(found) = found.filter(|_| !without.contains(&name)) {
            std::os::unix::fs::symlink(found, dir.path().join(name)).unwrap();
        }
    }
    dir
}

#[test]
fn no_process_of_a_browser_survives_a_crawler_that_is_killed() {
    if program().is_none() {
        return;
    }
    let _alone = ALONE.blocking_lock();
    let idle = "<img src=/never>";
    let busy = "<img src=/never><script>setTimeout(() => { while (true); }, 300)</script>";
    kill_crawler(idle, None, |_| {});
    kill_crawler(busy, None, |_| std::thread::sleep(Duration::from_secs(1)));
    // stopped processes hear nothing: only the kernel ends them
    let stop = |all: &[Process]| all.iter().filter(|process| process.is_renderer()).for_each(|p| p.kill(Signal::STOP));
    kill_crawler(idle, None, stop);
    let stop_all = |all: &[Process]| {
        // where no namespaces are to be had, nobody ends a browser that hears nothing but its own death
        if !all.iter().any(|process| process.command.starts_with("unshare")) {
            return;
        }
        let started = |process: &&Process| !process.command.starts_with("unshare");
        all.iter().filter(started).for_each(|p| p.kill(Signal::STOP));
    };
    kill_crawler(idle, None, stop_all);
    // without namespaces the browser itself is killed, and the others end with it
    let plain = commands(&["unshare"]);
    kill_crawler(idle, Some(plain.path()), |_| {});
    kill_crawler(busy, Some(plain.path()), |_| std::thread::sleep(Duration::from_secs(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_a_killed_crawler_left_is_removed_by_the_next_one() {
    let dir = open_dir();
    let Some(test) = start_in(dir.path(), BrowserOptions::default()).await else { return };
    let left = dir.path().join("crawler-browser-left");
    std::fs::create_dir_all(left.join("Default")).unwrap();
    std::fs::write(left.join("lock"), "").unwrap();
    let used = dir.path().join("crawler-browser-used");
    std::fs::create_dir(&used).unwrap();
    let lock = std::fs::File::create(used.join("lock")).unwrap();
    lock.lock().unwrap();
    renders(&test).await;
    assert!(!left.exists() && used.exists());
    test.close().await;
}

/// A program that starts the browser with `argument` beside what it is given.
pub fn wrapper(dir: &Path, program: &Path, argument: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join("wrapper");
    std::fs::write(&path, format!("#!/bin/sh\nexec '{}' {argument} \"$@\"\n", program.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_runs_in_its_sandbox_as_nobody_in_particular_or_not_at_all() {
    let dir = open_dir();
    let Some(test) = start_in(dir.path(), BrowserOptions::default()).await else { return };
    let is_root = rustix::process::geteuid().is_root();
    let failure = meanwhile(&test, dir.path(), move |dir| {
        let browser = processes::browser(dir);
        let all = renderers(dir);
        assert!(!all.is_empty());
        for renderer in &all {
            let namespaces = |pid: i32| std::fs::read_link(format!("/proc/{pid}/ns/pid")).unwrap();
            assert_eq!(renderer.status("Seccomp"), "2");
            assert_eq!(renderer.status("NoNewPrivs"), "1");
            assert_eq!(renderer.status("CapEff").trim_matches('0'), "");
            assert_ne!(namespaces(renderer.pid), namespaces(browser.pid));
        }
        for process in processes::of(dir).iter().filter(|process| !process.command.starts_with("unshare")) {
            assert!(!is_root || !process.status("Uid").starts_with("0\t"), "{process:?}");
        }
        browser.kill(Signal::KILL);
    })
    .await;
    assert_eq!(failure, RenderFailure::Crashed);
    test.close().await;

    // somebody's script takes it away
    let (Some(found), web) = (program(), Web::of(&[(URL, Answer::html("<p>here"))])) else { return };
    let program = Some(wrapper(dir.path(), &found, "--no-sandbox"));
    let _alone = ALONE.lock().await;
    for allow_unsandboxed in [false, true] {
        let temporary_dir = dir.path().to_owned();
        let program = program.clone();
        let options = BrowserOptions { program, temporary_dir, allow_unsandboxed, ..BrowserOptions::default() };
        let browsers = Browsers::new(options);
        let result = browsers.render(URL, "test", &crate::options(), web.clone() as Arc<_>).await;
        match allow_unsandboxed {
            true => assert!(result.is_ok(), "{result:?}"),
            false => assert!(matches!(result, Err(RenderFailure::Unsandboxed(_))), "{result:?}"),
        }
        browsers.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_browser_is_told() {
    let dir = open_dir();
    let _alone = ALONE.lock().await;
    let web = Web::of(&[]);
    let render = async |program: PathBuf| {
        let temporary_dir = dir.path().to_owned();
        let start_timeout = Duration::from_secs(5);
        let browsers = Browsers::new(BrowserOptions {
            program: Some(program),
            temporary_dir,
            start_timeout,
            ..BrowserOptions::default()
        });
        let result = browsers.render(URL, "test", &options(), web.clone() as Arc<_>).await;
        browsers.close().await;
        result.unwrap_err()
    };
    assert_eq!(render(PathBuf::from("/nowhere/chromium")).await, RenderFailure::NotFound);
    let talker = dir.path().join("talker");
    let script = "#!/bin/sh\ncase $1 in --version) echo Chromium 1;; *) echo 'no such thing' >&2; exit 1;; esac\n";
    std::fs::write(&talker, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(&talker, mode(0o755)).unwrap();
    assert_eq!(render(talker.clone()).await, RenderFailure::Start("no such thing".to_owned()));
    std::fs::write(&talker, "#!/bin/sh\ncase $1 in --version) echo Chromium 1;; *) exec sleep 100;; esac\n").unwrap();
    assert!(matches!(render(talker.clone()).await, RenderFailure::Start(_)));
    std::fs::write(&talker, "#!/bin/sh\necho 'No usable sandbox! x' >&2; [ \"$1\" = --version ] && echo Chromium 1\n")
        .unwrap();
    assert!(matches!(render(talker).await, RenderFailure::Unsandboxed(_)));
}
