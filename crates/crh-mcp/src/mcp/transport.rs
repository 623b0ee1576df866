//! JSON-RPC over a pair of streams, one message per line. Answers an unreadable message with an
//! error, and tells the server at once when the client is gone.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Maximum bytes of a message. The largest sensible message is a model's answer in `sampling`.
pub(crate) const MESSAGE_MAX: usize = 16 << 20;

/// Bytes to keep of the start and of the end of a message that is too long, to find its id.
const LINE_END_BYTES: usize = 1 << 10;

/// The transport of `crh mcp`.
pub(crate) struct LineTransport<R, W> {
    reader: BufReader<R>,
    writer: Arc<Mutex<W>>,
    /// The line that is being read. Kept here, because a read may be cancelled in the middle.
    line: Vec<u8>,
    /// Start and end of a line that is too long, while the rest of it is being skipped.
    skipped: Option<LongLine>,
    /// The answer to a line that cannot be read, while it is being sent. A task of its own, because
    /// `receive` may be cancelled in the middle.
    answer: Option<JoinHandle<io::Result<()>>>,
    /// Cancelled when the input ends.
    client_gone: CancellationToken,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    pub(crate) fn new(reader: R, writer: W, client_gone: CancellationToken) -> Self {
        Self {
            reader: BufReader::new(reader),
            writer: Arc::new(Mutex::new(writer)),
            line: Vec::new(),
            skipped: None,
            answer: None,
            client_gone,
        }
    }

    /// Reads up to the end of a line, which is then in `self.line`.
    async fn read_line(&mut self) -> LineRead {
        loop {
            let bytes = match self.reader.fill_buf().await {
                Ok([]) | Err(_) => return LineRead::End,
                Ok(bytes) => bytes,
            };
            let newline = bytes.iter().position(|&byte| byte == b'\n');
            let taken = newline.map_or(bytes.len(), |index| index + 1);
            if self.skipped.is_none() && self.line.len() + taken > MESSAGE_MAX {
                self.skipped = Some(LongLine::new(&self.line));
                self.line.clear();
            }
            match &mut self.skipped {
                Some(long) => long.push(&bytes[..taken]),
                None => self.line.extend_from_slice(&bytes[..taken]),
            }
            self.reader.consume(taken);
            if newline.is_some() {
                return self.skipped.take().map_or(LineRead::Line, LineRead::TooLong);
            }
        }
    }
}

/// Result of reading a line.
enum LineRead {
    Line,
    TooLong(LongLine),
    End,
}

/// The start and the end of a line that is too long.
struct LongLine {
    start: Vec<u8>,
    end: Vec<u8>,
}

impl LongLine {
    fn new(start: &[u8]) -> Self {
        let bytes = start.len().min(LINE_END_BYTES);
        let (start, end) = (&start[..bytes], &start[start.len() - bytes..]);
        Self { start: start.to_owned(), end: end.to_owned() }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.end.extend_from_slice(bytes);
        let surplus = self.end.len().saturating_sub(LINE_END_BYTES);
        self.end.drain(..surplus);
    }

    /// The id of the request. Clients write it as one of the first or of the last fields.
    fn id(&self) -> Option<RequestId> {
        let (start, end) =
            (String::from_utf8_lossy(&self.start), String::from_utf8_lossy(&self.end));
        let id_places =
            |text: &str| text.match_indices("\"id\"").map(|(place, _)| place).collect::<Vec<_>>();
        let first = id_places(&start).into_iter().find_map(|place| {
            let before = format!("{}\"id\":0}}", &start[..place]);
            serde_json::from_str::<Value>(&before).ok()?;
            let value = start[place..].split_once(':')?.1;
            serde_json::Deserializer::from_str(value).into_iter::<RequestId>().next()?.ok()
        });
        let last = || {
            id_places(&end).into_iter().find_map(|place| {
                let fields: Value = serde_json::from_str(&format!("{{{}", &end[place..])).ok()?;
                serde_json::from_value(fields.get("id")?.clone()).ok()
            })
        };
        first.or_else(last)
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, client_gone) = (self.writer.clone(), self.client_gone.clone());
        async move {
            let mut bytes = serde_json::to_vec(&message)?;
            bytes.push(b'\n');
            let mut writer = writer.lock().await;
            let write = async {
                writer.write_all(&bytes).await?;
                writer.flush().await
            };
            // A client that no longer reads is gone, too.
            write.await.inspect_err(|_| client_gone.cancel())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answer) = &mut self.answer {
                match answer.await {
                    // If the client cannot be reached, the next read ends.
                    Ok(_) | Err(_) => self.answer = None,
                }
            }
            let parsed = match self.read_line().await {
                LineRead::End => {
                    self.client_gone.cancel();
                    return None;
                }
                LineRead::TooLong(line) => Err(too_long(line.id())),
                LineRead::Line if self.line.trim_ascii().is_empty() => {
                    self.line.clear();
                    continue;
                }
                LineRead::Line => parse(&self.line),
            };
            self.line.clear();
            match parsed {
                Ok(message) => return Some(message),
                Err(answer) => self.answer = Some(tokio::spawn(self.send(*answer))),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.shutdown().await
    }
}

/// Parses a message, or gives the error to answer. The answer has the id of the request, if it has
/// one.
fn parse(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, ErrorAnswer> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let message = format!("this line is not JSON: {error}");
        error_answer(ErrorCode::PARSE_ERROR, message, None)
    })?;
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    serde_json::from_value(value).map_err(|error| {
        let message = format!("this is no request of MCP: {error}");
        error_answer(ErrorCode::INVALID_REQUEST, message, id)
    })
}

/// The answer to a message that cannot be read.
type ErrorAnswer = Box<TxJsonRpcMessage<RoleServer>>;

fn error_answer(code: ErrorCode, message: String, id: Option<RequestId>) -> ErrorAnswer {
    Box::new(TxJsonRpcMessage::<RoleServer>::error(ErrorData::new(code, message, None), id))
}

fn too_long(id: Option<RequestId>) -> ErrorAnswer {
    let message = format!("the message has more than {} MB", MESSAGE_MAX >> 20);
    error_answer(ErrorCode::INVALID_REQUEST, message, id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn id_of_a_message_that_is_too_long_is_found() {
        let filler = "x".repeat(10_000);
        for (message, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":5,"params":"{filler}"}}"#), Some("5")),
            (format!(r#"{{"id" : "a", "params":"{filler}"}}"#), Some("\"a\"")),
            (
                format!(r#"{{"params":{{"id":1,"a":"{filler}"}},"jsonrpc":"2.0","id":6}}"#),
                Some("6"),
            ),
            (format!(r#"{{"params":"{filler}","id":7,"jsonrpc":"2.0"}}"#), Some("7")),
            (format!(r#"{{"params":{{"a":"{filler}","id":1}}}}"#), None),
            (format!(r#"{{"params":{{"id":1,"a":"{filler}"}}}}"#), None),
            (filler.clone(), None),
        ] {
            let mut line = LongLine::new(&message.as_bytes()[..3_000]);
            message.as_bytes()[3_000..].chunks(999).for_each(|bytes| line.push(bytes));
            line.push(b"\n");
            let found = line.id().map(|id| serde_json::to_string(&id).unwrap());
            assert_eq!(found.as_deref(), id, "{}", &message[..40]);
        }
    }

    /// The server drops `receive` whenever something else happens.
    #[tokio::test]
    async fn answer_to_a_bad_line_survives_a_cancelled_receive() {
        let (reader, mut client) = tokio::io::duplex(64);
        // Too small for the answer, so that sending it has to wait.
        let (mut output, writer) = tokio::io::duplex(8);
        let mut transport = LineTransport::new(reader, writer, CancellationToken::new());
        client.write_all(b"nonsense\n").await.unwrap();
        let cancelled = tokio::time::timeout(Duration::from_millis(50), transport.receive()).await;
        assert!(cancelled.is_err());
        drop(client);
        let mut text = String::new();
        let read = async {
            while !text.ends_with('\n') {
                text.push(char::from(output.read_u8().await.unwrap()));
            }
        };
        let (received, ()) = tokio::join!(transport.receive(), read);
        assert!(received.is_none());
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["error"]["code"], -32700);
    }
}
