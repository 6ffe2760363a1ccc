//! Requests that are given up when nothing moves, and not before: a slow line is no fault.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::redirect;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// What a request's body is sent in, so that it shows whether it moves.
const SLICE: usize = 1 << 16;

/// Makes clients that watch their requests.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// Without a byte for so long a request is given up.
    pub stall: Duration,
}

impl HttpConnector for Watch {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // Installed already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Where credentials are asked of the machine's own network, its owner says how long to wait for a connection.
        let seconds = options.get_config_value(&ClientConfigKey::ConnectTimeout);
        let seconds = seconds.and_then(|text| text.strip_suffix('s')?.parse().ok());
        let connect = seconds.map_or(self.stall, |seconds| Duration::from_secs(seconds).min(self.stall));
        let plain = options.get_config_value(&ClientConfigKey::AllowHttp);
        let plain =
            plain.is_some_and(|value| ["true", "1", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str()));
        let fault =
            |e: reqwest::Error| object_store::Error::Generic { store: "HTTP", source: Box::new(e.without_url()) };
        let follow = redirect::Policy::custom(|attempt| {
            let secret = attempt.previous().iter().any(|url| url.scheme() == "https");
            match attempt.previous().len() > 10 || secret && attempt.url().scheme() != "https" {
                true => attempt.stop(),
                false => attempt.follow(),
            }
        });
        let mut client = reqwest::Client::builder();
        if let Some(proxy) = options.get_config_value(&ClientConfigKey::ProxyUrl) {
            client = client.proxy(reqwest::Proxy::all(proxy).map_err(fault)?);
        }
        let client = client
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .redirect(follow)
            .referer(false)
            .http1_only()
            .connect_timeout(connect)
            .build()
            .map_err(fault)?;
        Ok(HttpClient::new(Watched { client, stall: self.stall, plain }))
    }
}

#[derive(Debug)]
struct Watched {
    client: reqwest::Client,
    stall: Duration,
    plain: bool,
}

/// Nothing came or went.
#[derive(Debug, thiserror::Error)]
#[error("no byte moved for {} s", .0.as_secs_f64())]
struct Stalled(Duration);

#[derive(Debug, thiserror::Error)]
#[error("{0} is not encrypted (http), which AWS_ALLOW_HTTP=true (AZURE_ALLOW_HTTP=true) must allow")]
struct Plain(String);

#[async_trait::async_trait]
impl HttpService for Watched {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let bad = |e: String| HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(e));
        let url: reqwest::Url = parts.uri.to_string().parse().map_err(|e| bad(format!("no address: {e}")))?;
        if url.scheme() == "http" && !self.plain {
            return Err(HttpError::new(HttpErrorKind::Unknown, Plain(url.origin().ascii_serialization())));
        }
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        let moved = Arc::new(AtomicU64::new(0));
        *request.body_mut() = Some(reqwest::Body::wrap(Sent { body, slice: Bytes::new(), moved: moved.clone() }));
        let mut answer = std::pin::pin!(self.client.execute(request));
        let answer = loop {
            let before = moved.load(Ordering::Relaxed);
            match tokio::time::timeout(self.stall, &mut answer).await {
                Ok(answer) => break answer.map_err(fault)?,
                Err(_) if moved.load(Ordering::Relaxed) != before => {}
                Err(_) => return Err(HttpError::new(HttpErrorKind::Timeout, Stalled(self.stall))),
            }
        };
        let answer: http::Response<reqwest::Body> = answer.into();
        let (parts, body) = answer.into_parts();
        let body = Received { body, stall: self.stall, sleep: None };
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// What went wrong, without the address, which may hold a signature.
fn fault(error: reqwest::Error) -> HttpError {
    let mut kind = match () {
        () if error.is_timeout() => HttpErrorKind::Timeout,
        () if error.is_connect() => HttpErrorKind::Connect,
        () if error.is_decode() => HttpErrorKind::Decode,
        () if error.is_request() || error.is_body() => HttpErrorKind::Interrupted,
        () => HttpErrorKind::Unknown,
    };
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::TimedOut) {
            kind = HttpErrorKind::Timeout;
        }
        cause = error.source();
    }
    HttpError::new(kind, error.without_url())
}

/// A request's body in slices, which are counted as they go.
struct Sent {
    body: HttpRequestBody,
    slice: Bytes,
    moved: Arc<AtomicU64>,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        self.moved.fetch_add(1, Ordering::Relaxed);
        while self.slice.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.slice = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let most = self.slice.len().min(SLICE);
        Poll::Ready(Some(Ok(Frame::data(self.slice.split_to(most)))))
    }

    fn is_end_stream(&self) -> bool {
        self.slice.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.body.size_hint().exact().unwrap_or(0) + self.slice.len() as u64;
        SizeHint::with_exact(left)
    }
}

/// An answer's body, which fails where nothing comes.
struct Received {
    body: reqwest::Body,
    stall: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Body for Received {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.sleep = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(fault)));
        }
        let stall = self.stall;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Timeout, Stalled(stall)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
