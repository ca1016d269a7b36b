//! Meilisearch: a small server stands for the program, which was not run. It shows no more than that the sink does what
//! its author knows of the API.

use serde_json::{Value, json};

use crate::contract::http::{Reply, Request, serve};
use crate::contract::{document, holds, opened, refuses_one};
use crawler_feed::feed::Document;

#[derive(Default)]
struct Server {
    documents: Option<Vec<Value>>,
    tasks: Vec<Value>,
    looks: usize,
}

impl Server {
    fn answer(&mut self, request: &Request) -> Reply {
        assert!(request.head.contains("authorization: bearer sesame\n"), "{}", request.head);
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        match (&*request.method, path) {
            ("POST", "/indexes/pages/documents") => {
                assert_eq!(query, "primaryKey=id");
                let documents: Vec<Value> =
                    request.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                let bad = documents.iter().find(|document| document["id"].as_str().unwrap().contains(' '));
                if let Some(bad) = bad {
                    return self.task(Some(("invalid_document_id", format!("{} is invalid", bad["id"]))));
                }
                // its own order is not the one of ids
                let stored = self.documents.get_or_insert_default();
                stored.retain(|there| documents.iter().all(|document| document["id"] != there["id"]));
                stored.extend(documents);
                self.task(None)
            }
            ("POST", "/indexes/pages/documents/delete-batch") => {
                let ids: Vec<Value> = serde_json::from_str(&request.body).unwrap();
                match &mut self.documents {
                    Some(documents) => documents.retain(|document| !ids.contains(&document["id"])),
                    None => return self.task(Some(("index_not_found", "no index".to_owned()))),
                }
                self.task(None)
            }
            ("GET", "/indexes/pages/documents") => {
                let Some(documents) = &self.documents else {
                    return Reply::new(404, json!({"code": "index_not_found"}));
                };
                let number = |name: &str| query.split('&').find_map(|p| p.strip_prefix(name)?.parse().ok()).unwrap();
                let page: Vec<&Value> = documents.iter().skip(number("offset=")).take(number("limit=")).collect();
                Reply::new(200, json!({ "results": page }))
            }
            ("GET", path) => {
                let task: usize = path.strip_prefix("/tasks/").unwrap().parse().unwrap();
                self.looks += 1;
                let waits = json!({"status": "processing", "error": null});
                Reply::new(200, if self.looks % 2 == 1 { &waits } else { &self.tasks[task] })
            }
            _ => panic!("{request:?}"),
        }
    }

    fn task(&mut self, error: Option<(&str, String)>) -> Reply {
        let failed = error.map(|(code, message)| {
            json!({"status": "failed", "error": {"code": code, "type": "invalid_request", "message": message}})
        });
        self.tasks.push(failed.unwrap_or(json!({"status": "succeeded", "error": null})));
        Reply::new(202, json!({"taskUid": self.tasks.len() - 1, "status": "enqueued"}))
    }
}

#[test]
fn meilisearch_gets_what_its_documentation_asks_for() {
    let mut server = Server::default();
    let url = serve(move |request| server.answer(&request));
    let text = format!("kind = 'meilisearch'\nurl = '{url}'\nsecret = '${{file:/key}}'");
    holds(&|| opened(&text, Some("sesame")));
    let bad = Document { id: "not an id".into(), ..document(9_000, 1) };
    let letter = refuses_one(opened(&text, Some("sesame")), bad);
    assert!(letter["why"].as_str().unwrap().contains("invalid_document_id"), "{letter}");
}
