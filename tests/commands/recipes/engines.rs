//! Servers that take documents, as far as recipes see them: bulk requests of Elasticsearch, Typesense, Qdrant, and an
//! embedding server. One address has all of them, as their paths differ.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

/// The key of Typesense's API, as a field of a request.
const KEY: &str = "x-typesense-api-key: xyz";
/// Fields that Typesense's collection demands of a document.
const FIELDS: [&str; 5] = ["url", "urls", "title", "text", "language"];
/// Numbers of a vector.
const DIMENSIONS: usize = 384;
/// Texts that the embedding server takes at once.
const TEXTS_MAX: usize = 32;
/// Characters of a text that are embedded.
const CHARACTERS_MAX: usize = 8000;

/// Documents by their ids.
pub(super) type Documents = BTreeMap<String, Value>;

/// Documents of each server.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) elasticsearch: Documents,
    pub(super) typesense: Documents,
    pub(super) qdrant: Documents,
}

/// All servers.
pub(super) struct Engines {
    pub(super) address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
}

impl Engines {
    /// Starts them, for as long as this process lives.
    pub(super) fn start() -> Engines {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, kept) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Kept::default())));
        let taken = kept.clone();
        // a client that went away is none of its business
        std::thread::spawn(move || listener.incoming().for_each(|stream| _ = stream.and_then(|it| serve(&it, &taken))));
        Engines { address, kept }
    }

    /// The documents that they have been given.
    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }
}

/// A request of a recipe.
struct Request {
    /// The method and the path with its query.
    line: String,
    /// All fields, in lower case.
    fields: String,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> std::io::Result<Request> {
        let (mut reader, mut writer) = (BufReader::new(stream), stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
        let (line, fields) = head.split_once("\r\n").unwrap_or_default();
        let fields = fields.to_lowercase();
        if fields.contains("100-continue") {
            writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let length = fields.lines().find_map(|field| field.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        Ok(Request { line: line.trim_end_matches(" HTTP/1.1").to_owned(), fields, body })
    }

    /// Fails unless it has this field.
    fn demand(&self, field: &str) -> Result<(), String> {
        let has_it = self.fields.lines().any(|line| line == field);
        if has_it { Ok(()) } else { Err(format!("without the field {field:?}")) }
    }

    /// The values of the body.
    fn values(&self) -> Result<Vec<Value>, String> {
        let values = serde_json::Deserializer::from_slice(&self.body).into_iter::<Value>();
        values.collect::<Result<_, _>>().map_err(|e| e.to_string())
    }

    /// The list of this name in the object that the body is; it is not empty.
    fn list(&self, name: &str) -> Result<Vec<Value>, String> {
        self.demand("content-type: application/json")?;
        let values = self.values()?;
        let list = values.first().and_then(|value| value[name].as_array()).filter(|list| !list.is_empty());
        list.cloned().ok_or_else(|| format!("without {name}"))
    }
}

/// Answers one request.
fn serve(mut stream: &TcpStream, kept: &Mutex<Kept>) -> std::io::Result<()> {
    let request = Request::read(stream)?;
    let (status, answer) = match answer(&request, &mut kept.lock().unwrap()) {
        Ok(answer) => ("200 OK", answer),
        Err(why) => ("400 Bad Request", format!("{}: {why}", request.line)),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
    stream.write_all(format!("{head}{answer}").as_bytes())
}

/// Does what a request says, and returns the body of the answer.
fn answer(request: &Request, kept: &mut Kept) -> Result<String, String> {
    let collection = "/collections/documents";
    let (method, path) = request.line.split_once(' ').unwrap_or_default();
    match (method, path.strip_prefix(collection).unwrap_or(path)) {
        ("POST", "/pages/_bulk") => bulk(request, &mut kept.elasticsearch),
        ("POST", "/collections") => request.demand(KEY).map(|()| "{}".to_owned()),
        ("POST", "/documents/import?action=upsert") => import(request, &mut kept.typesense),
        ("DELETE", path) => delete(request, path, &mut kept.typesense),
        ("POST", "/embed") => embed(request),
        ("PUT", "") => request.demand("content-type: application/json").map(|()| "{}".to_owned()),
        ("PUT", "/points?wait=true") => upsert_points(request, &mut kept.qdrant),
        ("POST", "/points/delete?wait=true") => delete_points(request, &mut kept.qdrant),
        _ => Err("nobody knows this address".to_owned()),
    }
}

/// Does for Elasticsearch what the lines say; behind what is indexed comes its document.
fn bulk(request: &Request, documents: &mut Documents) -> Result<String, String> {
    request.demand("content-type: application/x-ndjson")?;
    let mut lines = request.values()?.into_iter();
    while let Some(act) = lines.next() {
        match act["delete"]["_id"].as_str() {
            Some(id) => _ = documents.remove(id),
            None => {
                let id = act["index"]["_id"].as_str().ok_or("without an id")?.to_owned();
                documents.insert(id, lines.next().ok_or("without a document")?);
            }
        }
    }
    Ok(json!({"errors": false}).to_string())
}

/// Stores documents in Typesense, which answers 200 also where it refuses one.
fn import(request: &Request, documents: &mut Documents) -> Result<String, String> {
    request.demand(KEY)?;
    let mut answers = Vec::new();
    for document in request.values()? {
        let missing = FIELDS.into_iter().find(|field| document[*field].is_null());
        answers.push(match (missing, document["id"].as_str().map(str::to_owned)) {
            (None, Some(id)) => {
                documents.insert(id, document);
                json!({"success": true}).to_string()
            }
            _ => json!({"success": false, "error": "a field is missing", "document": document}).to_string(),
        });
    }
    Ok(answers.join("\n"))
}

/// Deletes documents from Typesense; those that it does not have are no failure.
fn delete(request: &Request, path: &str, documents: &mut Documents) -> Result<String, String> {
    request.demand(KEY)?;
    let ids = path.strip_prefix("/documents?filter_by=id:[").and_then(|ids| ids.strip_suffix(']'));
    let deleted = ids.ok_or("without ids")?.split(',').filter(|id| documents.remove(*id).is_some()).count();
    Ok(json!({"num_deleted": deleted}).to_string())
}

/// Makes vectors of texts.
fn embed(request: &Request) -> Result<String, String> {
    let texts = request.list("inputs")?;
    if texts.len() > TEXTS_MAX || request.values()?[0]["truncate"] != json!(true) {
        return Err(format!("{} texts, or long ones", texts.len()));
    }
    let vectors = texts.iter().map(|text| text.as_str().map(vector)).collect::<Option<Vec<_>>>();
    Ok(json!(vectors.ok_or("an input that is no text")?).to_string())
}

/// A vector that tells texts of different lengths apart.
fn vector(text: &str) -> Vec<usize> {
    vec![text.chars().count(); DIMENSIONS]
}

/// Stores points in Qdrant, each of which has to have the vector of its own text.
fn upsert_points(request: &Request, documents: &mut Documents) -> Result<String, String> {
    for point in request.list("points")? {
        let [title, text] = ["title", "text"].map(|name| point["payload"][name].as_str().unwrap_or_default());
        let text: String = format!("{title}\n{text}").chars().take(CHARACTERS_MAX).collect();
        if point["vector"] != json!(vector(&text)) {
            return Err(format!("another vector than that of {text:?}"));
        }
        documents.insert(uuid(&point["id"])?, point["payload"].clone());
    }
    Ok(json!({"status": "ok"}).to_string())
}

/// Deletes points from Qdrant.
fn delete_points(request: &Request, documents: &mut Documents) -> Result<String, String> {
    for id in request.list("points")? {
        documents.remove(&uuid(&id)?);
    }
    Ok(json!({"status": "ok"}).to_string())
}

/// The id of a point.
fn uuid(id: &Value) -> Result<String, String> {
    let is_uuid = |id: &&str| id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    id.as_str().filter(is_uuid).map(str::to_owned).ok_or_else(|| format!("{id} is no UUID"))
}
