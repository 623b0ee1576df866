//! JSON-RPC over a pair of streams, one message per line. Answers what it cannot read, and tells
//! the server at once when the client is gone.

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

/// The transport of `crh mcp`.
pub(crate) struct LineTransport<R, W> {
    reader: BufReader<R>,
    writer: Arc<Mutex<W>>,
    /// The line that is being read. Kept here, because a read may be cancelled in the middle.
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped.
    is_skipping: bool,
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
            is_skipping: false,
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
            if self.line.len() + taken > MESSAGE_MAX {
                self.line.clear();
                self.is_skipping = true;
            }
            if !self.is_skipping {
                self.line.extend_from_slice(&bytes[..taken]);
            }
            self.reader.consume(taken);
            match (newline, self.is_skipping) {
                (Some(_), true) => {
                    self.is_skipping = false;
                    return LineRead::TooLong;
                }
                (Some(_), false) => return LineRead::Line,
                (None, _) => {}
            }
        }
    }
}

/// What a read of a line gave.
enum LineRead {
    Line,
    TooLong,
    End,
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
                LineRead::TooLong => Err(too_long()),
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

fn too_long() -> ErrorAnswer {
    let message = format!("the message has more than {} MB", MESSAGE_MAX >> 20);
    error_answer(ErrorCode::INVALID_REQUEST, message, None)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::*;

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
