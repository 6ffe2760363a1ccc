//! Texts to vectors of small integers, row by row: a row's vector depends on its texts alone, so any split gives the same.

use super::part::Parts;
use super::said::Handed;
use super::stream::{Event, Notes, Piece, Sink, Source, begin, each, integers};
use super::{EMBEDDER, KIND, PARTS, QUESTIONS};
use crate::embedder::{Role, ngram};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::plan::Plan;
use crate::recipe::EmbedderName;
use crate::source::clean::clean;
use crate::stage::embed::grams;
use crate::work::share::Share;
use arrow_array::ArrayRef;
use arrow_array::builder::{FixedSizeBinaryBuilder, FixedSizeListBuilder, Int16Builder};
use arrow_schema::{DataType, Field, Schema};
use std::io::Write;
use std::sync::Arc;

/// What the streams of this kind are called in their notes.
pub const NAME: &str = "vectors";

/// Rows whose texts and vectors are held at once.
const ROWS: usize = 512;

/// What makes vectors.
pub struct Embedder {
    dimensions: usize,
    /// Digest of all that its vectors depend on besides their texts.
    pub(super) identity: Digest,
    kind: Kind,
}

enum Kind {
    Ngram,
    #[cfg(feature = "embed")]
    Model(Box<crate::embedder::onnx::Model>),
}

impl Embedder {
    /// The one that is part of the program.
    pub fn ngram() -> Embedder {
        let identity = Digest::of(format!("ngram {}", ngram::VERSION));
        Embedder { dimensions: ngram::DIMENSIONS, identity, kind: Kind::Ngram }
    }

    /// That of a plan. Pins are not looked for: they hold the texts of whole languages, and a worker has a few.
    pub fn of(plan: &Plan) -> Result<Embedder> {
        match plan.recipe.retrieval.embedder {
            EmbedderName::Ngram => Ok(Embedder::ngram()),
            EmbedderName::Onnx => Embedder::model(plan),
        }
    }

    #[cfg(feature = "embed")]
    fn model(plan: &Plan) -> Result<Embedder> {
        use crate::embedder::onnx;
        let settings = &plan.recipe.embedding;
        let runtime = onnx::runtime(plan.options.runtime.as_deref())?;
        let folder = crate::source::locate::model(plan)?;
        let model = onnx::Model::open(&folder, settings, &runtime, plan.options.jobs)?;
        let (dimensions, identity) = (settings.dimensions as usize, model.identity().digest());
        Ok(Embedder { dimensions, identity, kind: Kind::Model(Box::new(model)) })
    }

    #[cfg(not(feature = "embed"))]
    fn model(_: &Plan) -> Result<Embedder> {
        Err(Error::new("the recipe embeds with a model, and this program was built without models")
            .help("build it with the feature `embed`"))
    }

    #[cfg_attr(not(feature = "embed"), expect(unused_variables, reason = "without models both sides are alike"))]
    fn vectors(&self, role: Role, texts: &[&str]) -> Result<Vec<i8>> {
        match &self.kind {
            Kind::Ngram => Ok(grams(texts).data),
            #[cfg(feature = "embed")]
            Kind::Model(model) => model.embed(role, texts, "embed"),
        }
    }
}

/// What of the rows is embedded.
pub struct Embedding<'a> {
    /// With what.
    pub embedder: &'a Embedder,
    /// Side of the comparison. Passages are cleaned, as they are when a collection is read.
    pub role: Role,
    /// The columns of text; none for `text` and all that begin with `text_`. Of several the vectors are summed, where a row has a text:
    /// one vector for a text in several languages.
    pub columns: Vec<String>,
    /// Which part of how many the rows are; none for what their streams say.
    pub share: Option<Share>,
}

/// Reads rows (`query`, or `number` or an `id` of digits; columns of text) and writes their vectors, in the same order.
///
/// # Errors
///
/// Streams with other columns of text than the first one, of other questions or of other parts.
pub fn embed(sources: &[Source], mut embedding: Embedding<'_>, out: &mut dyn Write) -> Result<()> {
    let own = [(KIND, NAME.to_owned()), (EMBEDDER, embedding.embedder.identity.to_string())];
    let own = own.into_iter().chain(embedding.share.map(|share| (PARTS, Parts::of(share).to_string())));
    let mut handed = Handed::new(if embedding.share.is_some() { &[QUESTIONS] } else { &[QUESTIONS, PARTS] });
    let named = !embedding.columns.is_empty();
    let mut out = Some(out);
    let mut sink: Option<Sink<'_>> = None;
    for source in sources {
        each(source, |event| match event {
            Event::Stream(schema, notes) => {
                let handed = handed.add(notes)?;
                let columns = if named { embedding.columns.clone() } else { texts(schema) };
                if let (Some(out), Some(handed)) = (out.take(), handed) {
                    embedding.columns = columns;
                    sink = Some(begin(out, embedding.fields()?, Notes::new(own.clone().chain(handed)))?);
                } else if columns != embedding.columns {
                    let [one, other] = [&embedding.columns, &columns].map(|columns| columns.join(", "));
                    return Err(Error::new(format!(
                        "the columns of text are [{other}], those of the first stream [{one}]"
                    ))
                    .help("name those that are meant with --text"));
                }
                Ok(())
            }
            Event::Rows(piece) => {
                let Some(sink) = &mut sink else { return Ok(()) };
                for piece in piece.pieces(ROWS) {
                    sink.write(embedding.columns(&piece)?)?;
                }
                Ok(())
            }
        })?;
    }
    sink.map_or(Ok(()), Sink::finish)
}

/// The columns of text of rows, where none is named. Their order does not matter to a sum.
fn texts(schema: &Schema) -> Vec<String> {
    let names = schema.fields().iter().map(|field| field.name());
    let mut texts: Vec<String> = names.filter(|name| *name == "text" || name.starts_with("text_")).cloned().collect();
    texts.sort_unstable();
    texts
}

impl Embedding<'_> {
    fn fields(&self) -> Result<Vec<Field>> {
        let d = self.embedder.dimensions as i32;
        let vector = match self.columns.len() {
            0 => {
                return Err(Error::new("there is no column `text`, nor one that begins with `text_`")
                    .help("name it with --text"));
            }
            1 => DataType::FixedSizeBinary(d),
            _ => DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Int16, true)), d),
        };
        let key = match self.role {
            Role::Query => "query",
            Role::Passage => "number",
        };
        Ok(vec![Field::new(key, DataType::Int64, false), Field::new("vector", vector, false)])
    }

    /// The columns of the output, of a piece of the input.
    fn columns(&self, piece: &Piece<'_>) -> Result<Vec<ArrayRef>> {
        let numbers = integers(match self.role {
            Role::Query => piece.queries()?,
            Role::Passage => piece.numbers()?,
        });
        let d = self.embedder.dimensions;
        if let [column] = self.columns.as_slice() {
            let vectors = self.vectors(&piece.texts(column)?)?;
            let mut built = FixedSizeBinaryBuilder::with_capacity(vectors.len() / d, d as i32);
            for vector in vectors.chunks_exact(d) {
                let bytes: Vec<u8> = vector.iter().map(|x| x.cast_unsigned()).collect();
                built.append_value(bytes).map_err(|e| Error::new(e.to_string()))?;
            }
            return Ok(vec![numbers, Arc::new(built.finish())]);
        }
        let mut sums = vec![0i16; d * piece.batch.num_rows()];
        for column in &self.columns {
            let texts = piece.maybe_texts(column)?;
            let there: Vec<&str> = texts.iter().copied().flatten().collect();
            let vectors = self.vectors(&there)?;
            let rows = sums.chunks_exact_mut(d).zip(&texts).filter(|(_, text)| text.is_some());
            for ((sum, _), vector) in rows.zip(vectors.chunks_exact(d)) {
                sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum = sum.saturating_add(i16::from(*x)));
            }
        }
        let mut built = FixedSizeListBuilder::new(Int16Builder::with_capacity(sums.len()), d as i32);
        for sum in sums.chunks_exact(d) {
            built.values().append_slice(sum);
            built.append(true);
        }
        Ok(vec![numbers, Arc::new(built.finish())])
    }

    fn vectors(&self, texts: &[&str]) -> Result<Vec<i8>> {
        match self.role {
            Role::Query => self.embedder.vectors(self.role, texts),
            Role::Passage => {
                let clean: Vec<String> = texts.iter().map(|text| clean(text)).collect();
                self.embedder.vectors(self.role, &clean.iter().map(String::as_str).collect::<Vec<_>>())
            }
        }
    }
}
