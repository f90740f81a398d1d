//! Endpoints that break HTTP: they hang, reset, or never stop talking.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How an endpoint misbehaves, once it has read a request.
#[derive(Clone, Copy, Debug)]
pub enum Misbehaviour {
    /// Says nothing, and keeps the connection.
    Hangs,
    /// Sends the head of a response, and nothing more.
    HangsInBody,
    /// Closes the connection.
    HangsUp,
    /// Closes the connection in the middle of the body.
    HangsUpInBody,
    /// Sends a body that does not end, as fast as it is read.
    NeverStops,
    /// Sends a body that does not end, a byte at a time.
    Drips,
    /// Announces a body that is too large.
    AnnouncesTooMuch,
    /// Answers in another protocol.
    SpeaksNoHttp,
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
const SIZED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"choices\":[";
const HUGE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n{";

/// Starts a misbehaving endpoint and gives its base URL.
pub async fn misbehaving(how: Misbehaviour) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(misbehave(stream, how));
        }
    });
    url
}

/// A base URL where no server listens.
pub async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

async fn misbehave(mut stream: TcpStream, how: Misbehaviour) {
    read_request(&mut stream).await;
    let done = match how {
        Misbehaviour::Hangs => keep(stream).await,
        Misbehaviour::HangsInBody => {
            let _ = stream.write_all(SIZED).await;
            keep(stream).await
        }
        Misbehaviour::HangsUp => Ok(()),
        Misbehaviour::HangsUpInBody => stream.write_all(SIZED).await,
        Misbehaviour::NeverStops => pour(stream, &[b' '; 8192], Duration::ZERO).await,
        Misbehaviour::Drips => pour(stream, b" ", Duration::from_millis(5)).await,
        Misbehaviour::AnnouncesTooMuch => {
            let _ = stream.write_all(HUGE).await;
            keep(stream).await
        }
        Misbehaviour::SpeaksNoHttp => stream.write_all(b"220 mail.example ESMTP\r\n").await,
    };
    // The client goes away first in most of these; that is what they are for.
    drop(done);
}

async fn read_request(stream: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        seen.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&seen);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return;
            }
        }
    }
}

/// Keeps the connection until the client closes it.
async fn keep(mut stream: TcpStream) -> std::io::Result<()> {
    let mut byte = [0; 1];
    stream.read(&mut byte).await.map(drop)
}

async fn pour(mut stream: TcpStream, what: &[u8], pause: Duration) -> std::io::Result<()> {
    stream.write_all(CHUNKED).await?;
    loop {
        stream.write_all(format!("{:x}\r\n", what.len()).as_bytes()).await?;
        stream.write_all(what).await?;
        stream.write_all(b"\r\n").await?;
        tokio::time::sleep(pause).await;
    }
}
