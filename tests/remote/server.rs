//! An S3 server on a port of this machine: s3s-fs over a folder, which outlives the server.

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::dto::*;
use s3s::service::S3ServiceBuilder;
use s3s::{S3, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

pub const KEY: &str = "AKIDTESTOFTHISPROGRAM";
pub const SECRET: &str = "not/so+secret/but+looked+for";

/// The bucket that is there.
pub const BUCKET: &str = "suite";

/// What the environment says of a server.
pub fn variables(address: &str) -> Vec<(String, String)> {
    let all = [
        ("AWS_ENDPOINT_URL", format!("http://{address}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
    ];
    all.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// A server. Dropped it is dead, with all its connections.
pub struct Server {
    pub address: String,
    root: PathBuf,
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts one over a folder, with one bucket.
    pub fn start(root: &Path) -> Server {
        std::fs::create_dir_all(root.join(BUCKET)).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut service =
            S3ServiceBuilder::new(Minded { inner: FileSystem::new(root).unwrap(), creating: Mutex::new(()) });
        service.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = service.build();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let server = Builder::new(TokioExecutor::new());
                    // A client that goes away is no fault.
                    let _ = server.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Server { address, root: root.to_owned(), runtime: Some(runtime) }
    }

    /// Uploads that were neither finished nor undone.
    pub fn unfinished(&self) -> usize {
        self.files(".upload-")
    }

    /// Parts of such uploads, and those that were under way when one was undone.
    pub fn parts(&self) -> usize {
        self.files(".upload_id-")
    }

    fn files(&self, begin: &str) -> usize {
        let names = nihbuild::store::sorted_dir(&self.root).unwrap();
        names.iter().filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(begin)).count()
    }

    /// The bytes of an object, as the server's folder has them.
    pub fn object(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.root.join(BUCKET).join(name)).ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// s3s-fs, but for two things in which it differs from S3: between its look whether an object is there and its making one
/// there is time for another to do the same, and of an upload that it does not know it says that access is denied.
struct Minded {
    inner: FileSystem,
    creating: Mutex<()>,
}

/// Another question of the same client.
fn asking<T, U>(request: &S3Request<T>, input: U) -> S3Request<U> {
    S3Request {
        input,
        method: request.method.clone(),
        uri: request.uri.clone(),
        headers: request.headers.clone(),
        extensions: request.extensions.clone(),
        credentials: request.credentials.clone(),
        region: request.region.clone(),
        service: request.service.clone(),
        trailing_headers: None,
    }
}

fn unknown<T>(answer: S3Result<T>) -> S3Result<T> {
    match answer {
        Err(e) if *e.code() == S3ErrorCode::AccessDenied => Err(s3_error!(NoSuchUpload)),
        other => other,
    }
}

#[async_trait::async_trait]
impl S3 for Minded {
    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        match request.input.if_none_match.is_some() {
            true => {
                let _alone = self.creating.lock().await;
                self.inner.put_object(request).await
            }
            false => self.inner.put_object(request).await,
        }
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        // If-Match, which s3s-fs does not know.
        if let Some(ETagCondition::ETag(wanted)) = &request.input.if_match {
            let head = HeadObjectInput {
                bucket: request.input.bucket.clone(),
                key: request.input.key.clone(),
                ..HeadObjectInput::default()
            };
            let found = self.inner.head_object(asking(&request, head)).await?;
            if found.output.e_tag.as_ref() != Some(wanted) {
                return Err(s3_error!(PreconditionFailed));
            }
        }
        self.inner.get_object(request).await
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        self.inner.head_object(request).await
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        self.inner.list_objects_v2(request).await
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        self.inner.delete_objects(request).await
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        self.inner.create_multipart_upload(request).await
    }

    async fn upload_part(&self, request: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        unknown(self.inner.upload_part(request).await)
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        unknown(self.inner.complete_multipart_upload(request).await)
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        unknown(self.inner.abort_multipart_upload(request).await)
    }
}
