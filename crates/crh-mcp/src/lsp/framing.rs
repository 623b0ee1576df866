//! Reads and writes messages with a `Content-Length` header. A message that is not valid JSON-RPC
//! gets an error reply and does not end the session.

use std::io;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
};
use tokio::sync::mpsc;

/// Largest message. Editors send whole files.
const MESSAGE_MAX: u64 = 64 << 20;
/// Longest line of a header. Real ones have about 20 bytes.
const HEADER_LINE_MAX: u64 = 1 << 10;
/// Maximum number of answers to malformed messages that wait for a slow client.
pub(super) const ANSWERS_MAX: usize = 16;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Result of reading a message.
#[derive(Debug, PartialEq)]
enum FrameRead {
    Body(Vec<u8>),
    /// A message that cannot be read. The next one can.
    Malformed(String),
    End,
}

/// Forwards messages to the server until the input ends. Answers to malformed messages go to
/// `answers`.
pub(super) async fn forward_requests(
    mut input: impl AsyncBufRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    answers: mpsc::Sender<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let problem = match read_frame(&mut input).await? {
            FrameRead::End => return Ok(()),
            FrameRead::Malformed(message) => Some(error(PARSE_ERROR, &message, &Value::Null)),
            FrameRead::Body(body) => match find_problem(&body) {
                None => {
                    server.write_all(&frame(&body)).await?;
                    None
                }
                problem => problem,
            },
        };
        if let Some(answer) = problem
            && answers.send(frame(answer.to_string().as_bytes())).await.is_err()
        {
            return Ok(());
        }
    }
}

/// Writes the messages of the server and the answers to malformed messages, each as a whole.
pub(super) async fn write_messages(
    mut server: impl AsyncBufRead + Unpin,
    mut answers: mpsc::Receiver<Vec<u8>>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    // Read in a future of its own: `select!` would cancel a read in the middle and lose bytes.
    let (sender, mut messages) = mpsc::channel(1);
    let read = async move {
        while let Ok(FrameRead::Body(body)) = read_frame(&mut server).await {
            if sender.send(frame(&body)).await.is_err() {
                return;
            }
        }
    };
    let write = async {
        loop {
            let message = tokio::select! {
                Some(answer) = answers.recv() => answer,
                message = messages.recv() => match message {
                    Some(message) => message,
                    None => return Ok(()),
                },
            };
            output.write_all(&message).await?;
            output.flush().await?;
        }
    };
    let ((), written) = tokio::join!(read, write);
    written
}

/// Reads one message: header lines, an empty line, and the body.
async fn read_frame(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<FrameRead> {
    let mut length = None;
    let mut is_malformed = false;
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut *input).take(HEADER_LINE_MAX);
        if limited.read_until(b'\n', &mut line).await? == 0 {
            return Ok(FrameRead::End);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse::<u64>().ok();
                is_malformed |= length.is_none();
            }
            Some(_) => {}
            None if line.is_empty() && (length.is_some() || is_malformed) => break,
            // An empty line before a header is ignored. Other lines without a colon are malformed.
            None => is_malformed |= !line.is_empty(),
        }
    }
    let Some(length) = length else {
        return Ok(FrameRead::Malformed("the message has no valid `Content-Length`".to_owned()));
    };
    if length > MESSAGE_MAX {
        tokio::io::copy(&mut (&mut *input).take(length), &mut tokio::io::sink()).await?;
        let message = format!("the message has more than {} MB", MESSAGE_MAX >> 20);
        return Ok(FrameRead::Malformed(message));
    }
    let mut body = Vec::new();
    match (&mut *input).take(length).read_to_end(&mut body).await? as u64 == length {
        true => Ok(FrameRead::Body(body)),
        false => Ok(FrameRead::End),
    }
}

/// The error to answer if a body is no message of JSON-RPC.
fn find_problem(body: &[u8]) -> Option<Value> {
    let message: Value = match serde_json::from_slice(body) {
        Ok(message) => message,
        Err(why) => {
            let message = format!("the message is not JSON: {why}");
            return Some(error(PARSE_ERROR, &message, &Value::Null));
        }
    };
    let id = message.get("id").filter(|id| id.is_number() || id.is_string());
    let is_call = message.get("method").is_some_and(Value::is_string);
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    let is_valid = message.get("jsonrpc").is_some_and(|version| version == "2.0")
        && (is_call || is_answer && id.is_some());
    let text = "the message is no request, notification or answer of JSON-RPC 2.0";
    (!is_valid).then(|| error(INVALID_REQUEST, text, id.unwrap_or(&Value::Null)))
}

fn error(code: i32, message: &str, id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn frame(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What reaches the server, and the codes and ids of the answers.
    async fn forwarded(input: &[u8]) -> (String, Vec<(i64, Value)>) {
        let (sender, mut receiver) = mpsc::channel(ANSWERS_MAX);
        let mut server = Vec::new();
        forward_requests(input, &mut server, sender).await.unwrap();
        let mut answers = Vec::new();
        while let Some(answer) = receiver.recv().await {
            let (_, body) = std::str::from_utf8(&answer).unwrap().split_once("\r\n\r\n").unwrap();
            let body: Value = serde_json::from_str(body).unwrap();
            answers.push((body["error"]["code"].as_i64().unwrap(), body["id"].clone()));
        }
        (String::from_utf8(server).unwrap(), answers)
    }

    #[tokio::test]
    async fn malformed_messages_get_an_error_and_the_next_one_arrives() {
        let good = r#"{"jsonrpc":"2.0","id":9,"method":"shutdown"}"#;
        let framed = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let parse = (-32700, Value::Null);
        for (bad, answer) in [
            (framed("{"), parse.clone()),
            (framed("\u{1}"), parse.clone()),
            ("Content-Length: many\r\n\r\n".to_owned(), parse.clone()),
            ("hello\r\n\r\n".to_owned(), parse.clone()),
            (format!("Content-Length: {}\r\n\r\n{}", 65 << 20, "x".repeat(65 << 20)), parse),
            (framed("[]"), (-32600, Value::Null)),
            (framed(r#"{"jsonrpc":"2.0","id":5,"method":7}"#), (-32600, json!(5))),
            (framed(r#"{"jsonrpc":"1.0","id":"a","method":"x"}"#), (-32600, json!("a"))),
            (framed(r#"{"jsonrpc":"2.0","result":1}"#), (-32600, Value::Null)),
        ] {
            let (server, answers) = forwarded((bad.clone() + &framed(good)).as_bytes()).await;
            let bad: String = bad.chars().take(60).collect();
            assert_eq!((server, answers), (framed(good), vec![answer]), "{bad}");
        }
    }

    #[tokio::test]
    async fn input_that_ends_in_the_middle_is_the_end() {
        for input in ["", "Content-Len", "Content-Length: 5\r\n\r\n{}"] {
            assert_eq!(forwarded(input.as_bytes()).await, (String::new(), Vec::new()));
        }
    }
}
