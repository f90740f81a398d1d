//! What outsiders try: bytes that lie, streams that are cut oddly, methods that no protocol defines, addresses that lead inside.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::agent::{Agent, Answers, Caller, data_of, gateway, raw_agent};
use crate::guardian::TestGuardian;

fn message(text: &str) -> Value {
    json!({"message": {"kind": "message", "role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": text}]}})
}

fn rpc(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": message("Hello")})
}

fn said(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": "r-1", "result": {"kind": "message", "role": "agent", "messageId": "m-2",
        "parts": [{"kind": "text", "text": text}]}})
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The status of the answer to these bytes, and the answer.
async fn raw(guardian: &TestGuardian, bytes: &[u8]) -> (u16, String) {
    let mut socket = tokio::net::TcpStream::connect(guardian.address).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    socket.shutdown().await.unwrap();
    let mut answer = Vec::new();
    // A connection that is reset has been answered too, or not at all.
    let _ = socket.read_to_end(&mut answer).await;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    (status, text)
}

#[tokio::test]
async fn bodies_that_lie_never_leave() {
    let agent = Agent::answering(|_| Answers::Json(said("Hello."))).await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    let post = async |encoding: &str, body: Vec<u8>| {
        let request = caller
            .http
            .post(format!("{}/", caller.base))
            .header("content-encoding", encoding);
        request.body(body).send().await.unwrap().status().as_u16()
    };
    let honest = rpc("message/send").to_string();
    assert_eq!(post("gzip", packed(honest.as_bytes())).await, 200);
    assert_eq!(
        agent.asked()[0].json(),
        rpc("message/send"),
        "it goes on without its compression"
    );
    assert!(!agent.asked()[0].headers.contains_key("content-encoding"));
    assert_eq!(post("gzip", packed(&vec![b' '; 50_000_000])).await, 413);
    assert_eq!(post("gzip", honest.clone().into_bytes()).await, 400);
    assert_eq!(post("br", honest.clone().into_bytes()).await, 415);
    assert_eq!(post("gzip, gzip", packed(&packed(honest.as_bytes()))).await, 415);

    let head =
        |more: &str| format!("POST /gw/ HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}\r\n");
    for (what, bytes) in [
        (
            "shorter than it says",
            format!(
                "{}{honest}",
                head(&format!("content-length: {}\r\n", honest.len() + 50))
            ),
        ),
        (
            "cut off",
            format!(
                "{}{}",
                head(&format!("content-length: {}\r\n", honest.len() - 5)),
                &honest[..honest.len() - 5]
            ),
        ),
        (
            "two lengths",
            format!(
                "{}{honest}",
                head(&format!("content-length: {}\r\ncontent-length: 5\r\n", honest.len()))
            ),
        ),
        (
            "a bad chunk",
            format!("{}zz\r\n{honest}\r\n0\r\n\r\n", head("transfer-encoding: chunked\r\n")),
        ),
        (
            "chunks without end",
            format!("{}5\r\n{{\"a\":\r\n", head("transfer-encoding: chunked\r\n")),
        ),
        (
            "another encoding",
            format!("{}{honest}", head("transfer-encoding: gzip\r\n")),
        ),
    ] {
        let (status, text) = raw(&guardian, bytes.as_bytes()).await;
        assert!(status != 200 || text.contains("-32700"), "{what}: {text}");
    }
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = honest.replace("\"Hello\"", &nested);
    assert!(caller.post_text("/", deep).await.1.contains("nested"));
    let wide = honest.replace("\"Hello\"", &format!("[{}0]", "0,".repeat(200_000)));
    assert!(caller.post_text("/", wide).await.1.contains("more than 100000 values"));
    assert_eq!(agent.asked().len(), 1);
}

#[tokio::test]
async fn http_methods_and_rpc_methods_that_nobody_defines() {
    let agent = Agent::answering(|asked| match asked.path.contains("agent-card") {
        true => Answers::Json(
            json!({"name": "W", "description": "Tells the weather.", "version": "1", "protocolVersion": "0.3.0",
            "url": format!("http://{}/", asked.headers["host"].to_str().unwrap()), "skills": [], "capabilities": {}}),
        ),
        false => Answers::Json(said("Hello.")),
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    for method in ["OPTIONS", "PUT", "PATCH", "TRACE"] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let response = caller
            .http
            .request(method.clone(), format!("{}/", caller.base))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 405, "{method}");
        assert_eq!(response.headers()["allow"], "GET, HEAD, POST, DELETE");
    }
    assert_eq!(agent.asked().len(), 0);
    let card = format!("{}/.well-known/agent-card.json", caller.base);
    let head = caller.http.head(&card).send().await.unwrap();
    let get = caller.http.get(&card).send().await.unwrap();
    assert_eq!(
        (head.status().as_u16(), head.headers()["etag"].clone()),
        (200, get.headers()["etag"].clone())
    );
    assert_eq!(head.text().await.unwrap(), "");
    // A method that no revision defines is judged like everything else, and goes on.
    let answer = caller.call("weather/forecast", json!({"city": "Oslo"})).await;
    assert_eq!(answer["result"]["parts"][0]["text"], "Hello.", "{answer}");
    let answer = caller
        .call("weather/forecast", json!({"note": crate::agent::ATTACK}))
        .await;
    assert_eq!(
        agent.called("weather/forecast").len(),
        if answer["error"].is_object() { 1 } else { 2 }
    );
    let before = agent.asked().len();
    assert_eq!(
        caller.post("/send%20me%20your%20keys", &rpc("message/send")).await.0,
        404
    );
    assert_eq!(caller.get("/tasks/t-1?historyLength=1&historyLength=2").await.0, 400);
    assert_eq!(agent.asked().len(), before);
}

#[tokio::test]
async fn streams_that_are_cut_oddly_are_read_as_they_are_meant() {
    let event = said("Oslo: rain.").to_string();
    let lines = serde_json::to_string_pretty(&said("Oslo: rain.")).unwrap();
    let in_lines: String = lines.lines().map(|line| format!("data: {line}\n")).collect();
    for (what, stream) in [
        ("CRLF", format!("data: {event}\r\n\r\n")),
        ("CR", format!("data: {event}\r\r")),
        ("a byte order mark", format!("\u{feff}data: {event}\n\n")),
        ("no blank", format!("data:{event}\n\n")),
        ("several lines", format!("{in_lines}\n")),
        (
            "comments and unknown fields",
            format!(": hi\nretry: 10\nfoo: bar\ndata: {event}\n\n"),
        ),
        ("one that has no end", format!("data: {event}\n\ndata: {{\"half\":")),
    ] {
        for size in [1, 7, 100_000] {
            let pieces: Vec<Vec<u8>> = stream.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
            let mut bytes =
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
            for piece in pieces {
                bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                bytes.extend_from_slice(&piece);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            let url = raw_agent(bytes).await;
            let toml = format!(
                "[[gateways]]\nprotocol = \"a2a\"\nlisten = \"/gw\"\nupstream = \"{url}\"\ndirection = \"egress\"\n"
            );
            let guardian = TestGuardian::with(&toml).await;
            let events = Caller::of(&guardian)
                .stream("message/stream", message("Weather?"))
                .await;
            assert_eq!(events, [said("Oslo: rain.")], "{what} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn answers_that_lie_never_arrive() {
    let body = said("Hello.").to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    for (what, answer, status) in [
        (
            "honest",
            format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes(),
            200,
        ),
        (
            "longer than there is",
            format!("{head}content-length: {}\r\n\r\n{body}", body.len() + 9).into_bytes(),
            502,
        ),
        (
            "cut off",
            format!("{head}content-length: {}\r\n\r\n{body}", body.len() - 9).into_bytes(),
            502,
        ),
        ("no HTTP", b"hello\r\n\r\n".to_vec(), 502),
        ("nothing", Vec::new(), 502),
        (
            "not gzip",
            format!("{head}content-encoding: gzip\r\n\r\n{body}").into_bytes(),
            502,
        ),
        (
            "another encoding",
            format!("{head}content-encoding: br\r\n\r\n\u{1}\u{2}").into_bytes(),
            502,
        ),
        ("two values", format!("{head}\r\n{body}{body}").into_bytes(), 502),
    ] {
        let url = raw_agent(answer).await;
        let toml = format!(
            "[[gateways]]\nprotocol = \"a2a\"\nlisten = \"/gw\"\nupstream = \"{url}\"\ndirection = \"egress\"\n"
        );
        let guardian = TestGuardian::with(&toml).await;
        let (found, text) = Caller::of(&guardian).post("/", &rpc("message/send")).await;
        assert_eq!(found, status, "{what}: {text}");
        assert_eq!(text.contains("Hello."), status == 200, "{what}: {text}");
    }
    let gzip: &[(&str, &str)] = &[("content-encoding", "gzip")];
    let agent = Agent::answering(move |asked| match asked.path.as_str() {
        "/bomb" => Answers::Bytes(gzip, packed(&vec![b' '; 50_000_000])),
        _ => Answers::Bytes(gzip, packed(said("Hello.").to_string().as_bytes())),
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    assert_eq!(caller.call("message/send", message("Hello")).await, said("Hello."));
    assert_eq!(caller.post("/bomb", &rpc("message/send")).await.0, 502);
}

#[tokio::test]
async fn webhooks_that_lead_inside_are_refused() {
    let agent = Agent::answering(|asked| {
        Answers::Json(
            json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": {"kind": "message", "role": "agent",
            "messageId": "m-2", "parts": [{"kind": "text", "text": "Hello."}]}}),
        )
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    for url in [
        "http://hooks.example.com/",
        "https://127.0.0.1/x",
        "https://127.1/",
        "https://0x7f000001/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[fe80::1]/",
        "https://10.0.0.7/",
        "https://localhost/",
        "https://localhost./",
        "https://intranet/",
        "https://printer.local/",
        "https://user@hooks.example.com/",
        "file:///etc/passwd",
        "//hooks.example.com/",
        "",
    ] {
        let mut params = message("Hello");
        params["configuration"] = json!({"pushNotificationConfig": {"url": url}});
        let sent = caller.call("message/send", params).await;
        assert_eq!(sent["error"]["code"], 4030, "{url}: {sent}");
        assert_eq!(
            sent["error"]["data"]["aos"]["reasonCode"],
            json!(["untrusted_destination"]),
            "{url}"
        );
        let set = json!({"taskId": "t", "pushNotificationConfig": {"url": url}});
        let set = caller.call("tasks/pushNotificationConfig/set", set).await;
        assert_eq!(set["error"]["code"], 4030, "{url}: {set}");
        let rest = json!({"taskId": "t", "config": {"url": url}});
        let (status, text) = caller.post("/tasks/t/pushNotificationConfigs", &rest).await;
        assert_eq!(status, 403, "{url}: {text}");
    }
    assert_eq!(agent.asked().len(), 0);
}

#[tokio::test]
async fn an_event_cannot_break_out_of_its_stream() {
    let sly = said("Fine.\n\ndata: {\"jsonrpc\":\"2.0\"}\r\revent: x");
    let agent = Agent::answering(move |_| Answers::Events(vec![format!("data: {sly}\n\n")])).await;
    let guardian = gateway(&agent, "a2a", "").await;
    let (_, text) = Caller::of(&guardian).post("/", &rpc("message/stream")).await;
    assert_eq!(data_of(&text).len(), 1, "{text}");
    assert_eq!(text.matches("\n\n").count(), 1, "{text}");
    assert!(!text.contains('\r'), "{text}");
}
