//! The servers that the contract is asked of, if they are installed: how each is started and reached.
//!
//! `install` beside this file puts them below `target/tools/stores`. docs/CLUSTER.md has the table.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::{Tool, free_port, has};

/// A program that serves objects.
pub struct Make {
    pub name: &'static str,
    /// The scheme of its addresses.
    pub scheme: &'static str,
    /// Makes the command that starts it on a port with its own directory. `None` where it is not installed.
    pub command: fn(u16, &Path) -> Option<Command>,
    /// Method, path and body of a request that makes a bucket; without one, a bucket is a directory.
    pub bucket_request: Option<(&'static str, &'static str, &'static str)>,
    /// Environment of its clients, in which PORT stands for its port.
    pub environment: &'static [(&'static str, &'static str)],
    /// True if it keeps the object that is there when another is put. Others replace it, and do not say so.
    pub keeps_what_is_there: bool,
}

const S3: &[(&str, &str)] =
    &[("AWS_ENDPOINT_URL", "http://127.0.0.1:PORT"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "key")];
/// Environment for a server that ignores conditions: objects are looked up before they are put.
const S3_UNCONDITIONAL: &[(&str, &str)] = &[
    ("AWS_ENDPOINT_URL", "http://127.0.0.1:PORT"),
    ("AWS_ACCESS_KEY_ID", "crawler-id"),
    ("AWS_SECRET_ACCESS_KEY", "crawler-key"),
    ("AWS_CONDITIONAL_PUT", "disabled"),
];
/// An account without a key: no token is fetched for it.
const GOOGLE: &[(&str, &str)] = &[(
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    r#"{"gcs_base_url": "http://127.0.0.1:PORT", "disable_oauth": true, "client_email": "", "private_key": "",
        "private_key_id": ""}"#,
)];
/// The account that every Azurite has, by its manual.
const AZURE: &[(&str, &str)] = &[
    ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:PORT/devstoreaccount1"),
    ("AZURE_ALLOW_HTTP", "true"),
    ("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1"),
    (
        "AZURE_STORAGE_ACCOUNT_KEY",
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    ),
];
const PUT_BUCKET: Option<(&str, &str, &str)> = Some(("PUT", "/BUCKET", ""));
/// The key of that account has signed it, until 2099.
const PUT_CONTAINER: Option<(&str, &str, &str)> = Some((
    "PUT",
    "/devstoreaccount1/BUCKET?restype=container&sv=2020-10-02&ss=b&srt=sco&sp=rwdlac&se=2099-01-01&spr=https,http\
     &sig=UnYyEy7400uAKybMkZpTQA4i3wYFXukC4pOih3aQLPw%3D",
    "",
));

pub static MOTO: Make = S3_OF_MOTO;

const S3_OF_MOTO: Make = Make {
    name: "moto",
    scheme: "s3",
    command: moto,
    bucket_request: PUT_BUCKET,
    environment: S3,
    keeps_what_is_there: true,
};

pub static SEAWEEDFS: Make = S3_OF_SEAWEEDFS;

const S3_OF_SEAWEEDFS: Make = Make { name: "SeaweedFS", command: seaweedfs, ..S3_OF_MOTO };

/// No emulator of Google's has its uploads and listings in XML, whose form is that of S3's: so they are asked of a
/// server of S3, which does not know Google's field for conditions.
pub static SEAWEEDFS_AS_GOOGLE: Make =
    Make { scheme: "gs", environment: GOOGLE, keeps_what_is_there: false, ..S3_OF_SEAWEEDFS };

pub static S3PROXY: Make = Make { name: "S3Proxy", command: s3proxy, ..S3_OF_MOTO };

pub static RCLONE: Make = Make {
    name: "rclone serve s3",
    command: rclone,
    bucket_request: None,
    environment: S3_UNCONDITIONAL,
    ..S3_OF_MOTO
};

pub static AZURITE: Make = Make {
    name: "Azurite",
    scheme: "az",
    command: azurite,
    bucket_request: PUT_CONTAINER,
    environment: AZURE,
    keeps_what_is_there: true,
};

/// Something that `install` has put below `target/tools/stores`; nothing where it has not.
fn tool(path: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/stores")).join(path);
    has(Tool::Installed { path: &path, by: "tests/crawls/stores/install" }).then_some(path)
}

fn moto(port: u16, _: &Path) -> Option<Command> {
    let mut command = Command::new(tool("bin/moto_server")?);
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
    Some(command)
}

fn seaweedfs(port: u16, dir: &Path) -> Option<Command> {
    let mut command = Command::new(tool("bin/weed")?);
    command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-master.volumeSizeLimitMB=64"]);
    command.args(["-volume.max=50", "-s3.port.iceberg=0", "-s3.port.lance=0"]);
    command.arg(format!("-dir={}", dir.display())).arg(format!("-s3.port={port}"));
    for server in ["master", "volume", "filer"] {
        command.arg(format!("-{server}.port={}", free_port())).arg(format!("-{server}.port.grpc={}", free_port()));
    }
    command.arg(format!("-s3.port.grpc={}", free_port()));
    Some(command)
}

fn s3proxy(port: u16, dir: &Path) -> Option<Command> {
    let jars = tool("s3proxy")?;
    let settings = format!(
        "s3proxy.endpoint=http://127.0.0.1:{port}\ns3proxy.authorization=none\njclouds.provider=filesystem-nio2\n\
         jclouds.filesystem.basedir={}\njclouds.identity=id\njclouds.credential=key\n",
        dir.join("objects").display()
    );
    std::fs::create_dir(dir.join("objects")).ok()?;
    std::fs::write(dir.join("s3proxy.conf"), settings).ok()?;
    let mut command = Command::new("java");
    command.arg("-cp").arg(jars.join("*")).args(["org.gaul.s3proxy.Main", "--properties", "s3proxy.conf"]);
    Some(command)
}

fn rclone(port: u16, dir: &Path) -> Option<Command> {
    let mut command = Command::new(tool("bin/rclone")?);
    command
        .args(["serve", "s3", "--auth-key", "crawler-id,crawler-key", "--addr", &format!("127.0.0.1:{port}")])
        .arg(dir);
    command.env("RCLONE_CONFIG", dir.join("rclone.conf"));
    Some(command)
}

fn azurite(port: u16, _: &Path) -> Option<Command> {
    let mut command = Command::new(tool("node_modules/.bin/azurite-blob")?);
    command.args(["--blobPort", &port.to_string(), "--skipApiVersionCheck", "--disableTelemetry", "--silent"]);
    Some(command)
}
