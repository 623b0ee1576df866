//! The part of HTTP/1.1 that the fakes need: requests, and replies with a known length or in
//! chunks.

mod server;

use std::io;
use std::io::{Read, Write};
use std::time::Duration;

pub(crate) use server::{Server, Service};

/// Maximum bytes of a request head. Real ones have a tenth of that.
const MAX_HEAD: usize = 64 * 1024;

/// Maximum bytes of a request body: several times a context of a million tokens.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 64;

/// A complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpRequest {
    /// The value of a header, named in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str())
    }
}

/// The bytes of a reply, which may be cut off, and the end of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    /// Delay before the first byte.
    pub(crate) delay: Duration,
    /// Separate writes.
    pub(crate) writes: Vec<Vec<u8>>,
    pub(crate) end: ConnectionEnd,
}

/// What happens after the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// Read the next request.
    KeepAlive,
    /// Close the connection.
    Close,
    /// Keep the connection open and silent.
    Silence,
}

/// Reads the next request; `None` if the client closed the connection. `buffer` keeps bytes of
/// later requests.
pub(crate) fn read_request(
    stream: &mut (impl Read + Write),
    buffer: &mut Vec<u8>,
) -> io::Result<Option<HttpRequest>> {
    let (mut request, head) = loop {
        if let Some(request_and_length) = parse_head(buffer)? {
            break request_and_length;
        }
        if buffer.len() > MAX_HEAD {
            return Err(invalid("the head of the request is too long"));
        }
        if read_more(stream, buffer)? == 0 {
            return Ok(None);
        }
    };
    buffer.drain(..head);
    if request.header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if request.header("transfer-encoding").is_some() {
        return Err(invalid("a request in chunks is not read here"));
    }
    let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(invalid)?;
    if length > MAX_BODY {
        return Err(invalid("the body of the request is too long"));
    }
    while buffer.len() < length {
        if read_more(stream, buffer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    request.body = buffer.drain(..length).collect();
    Ok(Some(request))
}

/// A reply whose length is known.
pub(crate) fn full_reply(
    status: u16,
    headers: &[(&str, String)],
    body: impl AsRef<[u8]>,
) -> Vec<u8> {
    let body = body.as_ref();
    let length = [("content-length", body.len().to_string())];
    let mut bytes = reply_head(status, &[headers, &length].concat());
    bytes.extend_from_slice(body);
    bytes
}

/// The head of a reply in chunks.
pub(crate) fn chunked_head(status: u16, headers: &[(&str, String)]) -> Vec<u8> {
    let chunked = [("transfer-encoding", "chunked".to_owned())];
    reply_head(status, &[headers, &chunked].concat())
}

/// One chunk; the empty one ends the reply.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

fn reply_head(status: u16, headers: &[(&str, String)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        410 => "Gone",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

/// The request without its body, and the length of its head; `None` if the head is incomplete.
fn parse_head(buffer: &[u8]) -> io::Result<Option<(HttpRequest, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(buffer).map_err(invalid)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = parsed.headers.iter();
    let request = HttpRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        headers: headers.map(|one| (one.name.to_lowercase(), text(one.value))).collect(),
        body: Vec::new(),
    };
    Ok(Some((request, length)))
}

/// Reads what has arrived. Reads again if a signal interrupts, which also happens to a process
/// without signal handlers: the kernel does not restart the read of a socket that has a time limit
/// when the process is suspended and continued.
pub(crate) fn read_more(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut bytes = [0; 16 * 1024];
    let count = loop {
        match stream.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    buffer.extend_from_slice(&bytes[..count]);
    Ok(count)
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn requests(bytes: &str) -> io::Result<Vec<HttpRequest>> {
        let mut stream = Cursor::new(bytes.as_bytes().to_vec());
        let mut buffer = Vec::new();
        std::iter::from_fn(|| read_request(&mut stream, &mut buffer).transpose()).collect()
    }

    /// Fails each second read as if a signal had interrupted it.
    struct Interrupting<'a> {
        rest: &'a [u8],
        is_next: bool,
    }

    impl Read for Interrupting<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_next = !self.is_next;
            if self.is_next {
                Err(io::ErrorKind::Interrupted.into())
            } else {
                self.rest.read(buffer)
            }
        }
    }

    #[test]
    fn interrupted_read_is_repeated() {
        let mut stream = Interrupting { rest: b"ab", is_next: false };
        let mut buffer = Vec::new();
        assert_eq!(read_more(&mut stream, &mut buffer).unwrap(), 2);
        assert_eq!(read_more(&mut stream, &mut buffer).unwrap(), 0);
        assert_eq!(buffer, b"ab");
    }

    #[test]
    fn requests_that_come_at_once_are_read_one_by_one() {
        let request = |path: &str, body: &str| HttpRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: vec![("content-length".to_owned(), body.len().to_string())],
            body: body.as_bytes().to_vec(),
        };
        let bytes = "POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\none\
                     POST /b HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(requests(bytes).unwrap(), [request("/a", "one"), request("/b", "")]);
    }

    #[test]
    fn oversized_or_malformed_request_is_refused() {
        for (bytes, expected) in [
            (
                format!("GET /{} HTTP/1.1", "a".repeat(MAX_HEAD)),
                "the head of the request is too long",
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n".to_owned(),
                "the body of the request is too long",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
                "a request in chunks is not read here",
            ),
        ] {
            assert_eq!(requests(&bytes).unwrap_err().to_string(), expected);
        }
    }
}
