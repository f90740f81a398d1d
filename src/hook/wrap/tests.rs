use serde_json::Value;

use super::*;

fn command() -> Command<'static> {
    Command {
        guardian: "/opt/guardian",
        options: &[],
    }
}

/// Wraps whatever can be wrapped.
fn wrapped(form: Form, text: &str) -> (String, Vec<Path>) {
    let servers = form.servers(text).unwrap();
    let can = |server: &Server| matches!(server.kind, Kind::Program | Kind::Address { .. });
    let paths: Vec<Path> = servers.into_iter().filter(can).map(|server| server.path).collect();
    (form.wrap(text, &paths, &command()).unwrap(), paths)
}

const ZED: &str = r#"{ // Zed
  "theme": "One",
  "context_servers": {
    "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {}}, // mine
    "wiki": {"url": "https://mcp.example.org/mcp", "headers": {"Authorization": "Bearer …", "X-Team": "${env:TEAM}"}},
    "own": {"source": "extension", "settings": {}},
  },
}
"#;

#[test]
fn programs_and_addresses_are_wrapped_and_everything_else_stays() {
    let (text, paths) = wrapped(Form::Json, ZED);
    assert_eq!(
        text,
        r#"{ // Zed
  "theme": "One",
  "context_servers": {
    "git": {"command": "/opt/guardian", "args": ["mcp-stdio", "--name", "git", "--", "uvx", "mcp-server-git"], "env": {}}, // mine
    "wiki": {"command": "/opt/guardian", "args": ["mcp-stdio", "--name", "wiki", "--url", "https://mcp.example.org/mcp", "--header-env", "Authorization=GUARDIAN_HEADER_AUTHORIZATION", "--header-env", "X-Team=GUARDIAN_HEADER_X_TEAM"], "env": {"GUARDIAN_HEADER_AUTHORIZATION": "Bearer …", "GUARDIAN_HEADER_X_TEAM": "${env:TEAM}"}},
    "own": {"source": "extension", "settings": {}},
  },
}
"#
    );
    // Twice is once.
    assert_eq!(wrapped(Form::Json, &text), (text.clone(), Vec::new()));
    assert_eq!(
        Form::Json.unwrap(&text, &paths, ZED, &text).unwrap(),
        (ZED.to_owned(), Vec::new())
    );
}

#[test]
fn each_client_has_its_own_words_for_a_program() {
    for (before, after) in [
        (
            r#"{"mcpServers":{"a":{"type":"http","url":"https://w.example/mcp"}}}"#,
            r#"{"mcpServers":{"a":{"type":"stdio","command": "/opt/guardian", "args": ["mcp-stdio", "--name", "a", "--url", "https://w.example/mcp"]}}}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"type":"http","url":"https://w.example/mcp","tools":["*"]}}}"#,
            r#"{"mcpServers":{"a":{"type":"local","command": "/opt/guardian", "args": ["mcp-stdio", "--name", "a", "--url", "https://w.example/mcp"],"tools":["*"]}}}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"serverUrl":"https://w.example/mcp"}}}"#,
            r#"{"mcpServers":{"a":{"command": "/opt/guardian", "args": ["mcp-stdio", "--name", "a", "--url", "https://w.example/mcp"]}}}"#,
        ),
        (
            r#"{"mcp":{"a":{"type":"local","command":["uvx","mcp-server-time"],"enabled":false}}}"#,
            r#"{"mcp":{"a":{"type":"local","command":["/opt/guardian", "mcp-stdio", "--name", "a", "--", "uvx","mcp-server-time"],"enabled":false}}}"#,
        ),
        (
            r#"{"mcp":{"a":{"type":"remote","url":"https://w.example/mcp","headers":{"X":"1"}}}}"#,
            r#"{"mcp":{"a":{"type":"local","command": ["/opt/guardian", "mcp-stdio", "--name", "a", "--url", "https://w.example/mcp", "--header-env", "X=GUARDIAN_HEADER_X"],"environment":{"GUARDIAN_HEADER_X":"1"}}}}"#,
        ),
        (
            r#"{"servers":{"a":{"command":"srv"}},"inputs":[]}"#,
            r#"{"servers":{"a":{"command":"/opt/guardian", "args": ["mcp-stdio", "--name", "a", "--", "srv"]}},"inputs":[]}"#,
        ),
        (
            r#"{"projects":{"/w":{"mcpServers":{"a":{"command":"srv","args":[]}}}}}"#,
            r#"{"projects":{"/w":{"mcpServers":{"a":{"command":"/opt/guardian","args":["mcp-stdio", "--name", "a", "--", "srv"]}}}}}"#,
        ),
    ] {
        let (text, paths) = wrapped(Form::Json, before);
        assert_eq!(text, after);
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        assert_eq!(Form::Json.unwrap(&text, &paths, before, &text).unwrap().0, before);
    }
}

#[test]
fn what_cannot_be_wrapped_is_left_alone() {
    for entry in [
        r#"{"url": "https://w.example/mcp", "oauth": {"clientId": "x"}}"#,
        r#"{"type": "sse", "url": "https://w.example/sse"}"#,
        r#"{"source": "extension", "settings": {}}"#,
        r#"{"command": {"path": "x"}}"#,
        r#"{"command": "x", "args": "y"}"#,
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
        let servers = Form::Json.servers(&text).unwrap();
        assert!(matches!(servers[0].kind, Kind::LeftAlone(_)), "{servers:?}");
        assert_eq!(wrapped(Form::Json, &text).0, text);
    }
    assert!(Form::Json.servers("{\"mcpServers\": ").is_err());
    assert!(Form::Json.servers("[]").is_err());
    // A client takes one of the two, and it is not known which.
    let twice = r#"{"mcpServers": {"a": {"command": "x", "command": "y"}}}"#;
    let refused = Form::Json.servers(twice).unwrap_err().to_string();
    assert_eq!(
        refused,
        "expected each name once, found `command` twice; correct the file first"
    );
    assert_eq!(
        Form::Json
            .servers(r#"{"mcpServers": 1, "servers": ["x"], "mcp": null}"#)
            .unwrap(),
        []
    );
    assert!(Form::Toml.servers("[mcp_servers").is_err());
    assert_eq!(Form::Toml.servers("model = 'x'").unwrap(), []);
}

#[test]
fn of_a_file_that_somebody_else_wrote_since_the_entries_alone_are_put_back() {
    let before =
        r#"{"mcpServers": {"a": { "command": "x", "args": [ "1" ] }, "b": {"command": "y"}, "c": {"command": "z"}}}"#;
    let (written, paths) = wrapped(Form::Json, before);
    // Written anew in another form, with one entry changed, one taken out and one added.
    let mut now: Value = serde_json::from_str(&written).unwrap();
    now["mcpServers"]["b"]["args"][2] = "other".into();
    now["mcpServers"].as_object_mut().unwrap().remove("c");
    now["mcpServers"]["d"] = serde_json::json!({"command": "new"});
    let now = serde_json::to_string_pretty(&now).unwrap();
    let (text, changed) = Form::Json.unwrap(&now, &paths, before, &written).unwrap();
    assert_eq!(changed, [["mcpServers", "b"]]);
    assert!(text.contains(r#""a": { "command": "x", "args": [ "1" ] }"#), "{text}");
    assert!(
        text.contains("other") && text.contains("new") && !text.contains("\"c\""),
        "{text}"
    );
}

const CODEX: &str = "# mine
model = \"o\"

[mcp_servers.git] # the repository
command = \"uvx\" # fast
args = [\"mcp-server-git\"]
[mcp_servers.git.env]
TZ = \"UTC\"

[mcp_servers.wiki]
url = \"https://mcp.example.org/mcp\"
bearer_token_env_var = \"WIKI_TOKEN\"
http_headers = { \"X-Team\" = \"t\" }
tool_timeout_sec = 9

[tui]
theme = \"x\"
";

#[test]
fn codex_keeps_its_comments_and_its_tokens() {
    let (text, paths) = wrapped(Form::Toml, CODEX);
    assert_eq!(
        text,
        "# mine
model = \"o\"

[mcp_servers.git] # the repository
command = \"/opt/guardian\" # fast
args = [\"mcp-stdio\", \"--name\", \"git\", \"--\", \"uvx\",\"mcp-server-git\"]
[mcp_servers.git.env]
TZ = \"UTC\"

[mcp_servers.wiki]
tool_timeout_sec = 9
command = \"/opt/guardian\"
args = [\"mcp-stdio\", \"--name\", \"wiki\", \"--url\", \"https://mcp.example.org/mcp\", \"--header-env\", \"X-Team=GUARDIAN_HEADER_X_TEAM\", \"--bearer-env\", \"WIKI_TOKEN\"]
env_vars = [\"WIKI_TOKEN\"]
env = { GUARDIAN_HEADER_X_TEAM = \"t\" }

[tui]
theme = \"x\"
"
    );
    assert_eq!(wrapped(Form::Toml, &text).1, Vec::<Path>::new());
    let later = text.replace("theme = \"x\"", "theme = \"y\"");
    let (back, changed) = Form::Toml.unwrap(&later, &paths, CODEX, &text).unwrap();
    assert_eq!(
        (back, changed),
        (CODEX.replace("theme = \"x\"", "theme = \"y\""), Vec::new())
    );
}

#[test]
fn each_client_has_a_file() {
    let home = std::path::Path::new("/home/u");
    let folders = Folders {
        home,
        variable: &|name| (name == "CODEX_HOME").then(|| "/elsewhere".into()),
    };
    let file = |name: &str| Client::named(name).unwrap().file(&folders);
    assert_eq!(file("codex"), std::path::Path::new("/elsewhere/config.toml"));
    assert_eq!(file("claude-code"), home.join(".claude.json"));
    assert_eq!(file("cursor"), home.join(".cursor/mcp.json"));
    assert!(file("opencode").ends_with("opencode/opencode.json"));
}
