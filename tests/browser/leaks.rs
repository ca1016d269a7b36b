//! Leaks of a browser: nothing leaves it but by the network of the test, whatever a page tries.
//!
//! A page tries all ways that are known, against listeners on this machine and names that nobody has. Judges are the
//! listeners and `strace`, not the browser. It is tried twice: in the network namespace that browsers get, and without
//! it, where arguments of the browser are all there is.

use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crawler::browser::{BrowserOptions, Browsers, RefusedKind, RenderFailure, RenderOptions};

use crate::ends::{commands, open_dir};
use crate::network::{Answer, Web};
use crate::tools::{Tool, has};
use crate::{ALONE, program};

const URL: &str = "https://site.example/";
const PORTS: &str = "BROWSER_TEST_PORTS";
const DIR: &str = "BROWSER_TEST_DIR";
/// The number of times a browser is started at most.
const STARTS_MAX: u32 = 3;

/// A page that tries it all, with the port of a TCP and of a UDP listener of this machine.
fn page(tcp: &str, udp: &str) -> String {
    include_str!("leaks.html").replace("@TCP@", tcp).replace("@UDP@", udp)
}

/// The process that is traced, which is not a test by itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process that the other test traces"]
async fn renders_a_page_that_tries_everything() {
    let (Ok(ports), Some(dir)) = (std::env::var(PORTS), std::env::var_os(DIR).map(PathBuf::from)) else { return };
    let (tcp, udp) = ports.split_once(' ').map(|(tcp, udp)| (tcp.to_owned(), udp.to_owned())).unwrap();
    let page = page(&tcp, &udp);
    let worker = format!("new WebSocket('ws://127.0.0.1:{tcp}/worker'); fetch('http://127.0.0.1:{tcp}/worker')");
    let image = format!("http://127.0.0.1:{tcp}/image");
    let web = Web::by(move |asked| match asked.url.strip_prefix(URL) {
        Some("") => Some(Answer::html(&page)),
        Some("worker.js" | "shared.js" | "sw.js") => Some(Answer::script(&worker)),
        Some("wait") => Some(Answer::of("text/plain", "")),
        // what a page says of other places in its fields
        Some("fields") => Some(
            Answer::of("text/plain", "x")
                .with("Alt-Svc", &format!("h3=\"127.0.0.1:{udp}\", h2=\"127.0.0.1:{tcp}\""))
                .with("Link", &format!("<http://127.0.0.1:{tcp}/link>; rel=preconnect"))
                .with("NEL", "{\"report_to\":\"g\",\"max_age\":100,\"success_fraction\":1.0}")
                .with(
                    "Report-To",
                    &format!(
                        "{{\"group\":\"g\",\"max_age\":100,\"endpoints\":[{{\"url\":\"http://127.0.0.1:{tcp}/\"}}]}}"
                    ),
                ),
        ),
        // the crawler refuses addresses that are not public
        _ => None,
    });
    let options = BrowserOptions { program: program(), temporary_dir: dir, ..BrowserOptions::default() };
    let browsers = Browsers::new(options);
    let options = RenderOptions { deadline: Duration::from_secs(40), ..crate::options() };
    let mut starts = 1;
    let rendered = loop {
        match browsers.render(URL, "test", &options, web.clone()).await {
            // where each system call is traced, one crashes before its first word now and then; the crawler starts
            // another one, too
            Err(RenderFailure::Start(why)) if starts < STARTS_MAX => println!("not started: {why}"),
            rendered => break rendered.unwrap(),
        }
        starts += 1;
    };
    // the browser has time for what it does by itself
    tokio::time::sleep(Duration::from_secs(3)).await;
    for part in ["<p id=\"ws\">error</p>", "<p id=\"done\">done</p>"] {
        assert!(rendered.dom.contains(part), "{}", rendered.dom);
    }
    let told = |what| rendered.refused.iter().any(|refused| refused.what == what);
    assert!(told(RefusedKind::WebSocket), "{:?}", rendered.refused);
    assert!(told(RefusedKind::ServiceWorker), "{:?}", rendered.refused);
    // what can be intercepted was asked for here, and judged by the crawler
    for url in [image, "http://169.254.169.254/latest/meta-data/".to_owned()] {
        assert!(web.was_asked(&url), "{url}: {:#?}", web.asked());
    }
    browsers.close().await;
    println!("all was tried");
}

/// Lines of a trace that tell of a connection or a packet to an address of the internet's protocols. That a UDP socket
/// is given an address to ask the kernel for a route is none: nothing is sent by that.
fn outward(trace: &str) -> Vec<&str> {
    let calls = ["connect(", "sendto(", "sendmsg(", "sendmmsg("];
    let is_inet = |line: &str| ["sa_family=AF_INET", "<TCP", "<UDP"].iter().any(|word| line.contains(word));
    let asks = |line: &str| line.contains("connect(") && line.contains("<UDP");
    let lines = trace.lines().filter(|line| calls.iter().any(|call| line.contains(call)) && is_inet(line));
    lines.filter(|line| !asks(line)).collect()
}

#[test]
fn nothing_leaves_a_browser_but_by_its_pipe() {
    let Some(program) = program() else { return };
    if !has(Tool::Strace) {
        return;
    }
    // by its path: the command gets another PATH
    let paths = std::env::var_os("PATH").unwrap();
    let strace = std::env::split_paths(&paths).map(|dir| dir.join("strace")).find(|path| path.exists()).unwrap();
    let _alone = ALONE.blocking_lock();
    let plain = commands(&["unshare"]);
    for path in [None, Some(plain.path())] {
        let trace = traced(&strace, &program, path);
        let outward = outward(&trace);
        println!("{} lines of trace, {outward:#?}", trace.lines().count());
        assert!(trace.contains("AF_UNIX"), "nothing was traced");
        assert_eq!(outward, [""; 0]);
    }
}

/// The trace of a browser with the page that tries everything; the listeners have heard nothing.
fn traced(strace: &Path, program: &Path, path: Option<&Path>) -> String {
    let dir = open_dir();
    let out = dir.path().join("trace");
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let ports = format!("{} {}", tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let mut command = Command::new(strace);
    command.args(["-f", "-qq", "-yy", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]).arg(&out);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "leaks::renders_a_page_that_tries_everything", "--ignored", "--nocapture"]);
    command.env(PORTS, ports).env(DIR, dir.path()).env("BROWSER_PROGRAM", program);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("all was tried"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(tcp.accept().is_err(), "somebody has connected");
    assert!(udp.recv_from(&mut [0; 2048]).is_err(), "a packet has come");
    std::fs::read_to_string(out).unwrap()
}
