//! Drawings as pictures. Text is set in a font that the program brings along (Ubuntu Light, under the Ubuntu Font
//! Licence), so that a picture is the same on every machine; it has Latin, Greek and Cyrillic letters, and what plots
//! say is codes, numbers and names of models.

use crate::error::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::LazyLock;

static OPTIONS: LazyLock<Options<'static>> = LazyLock::new(|| {
    let mut options = Options { font_family: "Ubuntu".to_owned(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts.faces().next().and_then(|face| face.families.first().map(|(name, _)| name.clone()));
    if let Some(family) = family {
        fonts.set_sans_serif_family(&family);
        options.font_family = family;
    }
    options
});

/// Pixels of a picture for each of the drawing.
const SCALE: f32 = 2.0;

/// A drawing of its own as PNG.
pub fn picture(svg: &str) -> Result<Vec<u8>> {
    let tree = Tree::from_str(svg, &OPTIONS).map_err(|e| Error::new(format!("cannot draw: {e}")))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| Error::new("the drawing has no size"))?;
    let mut picture =
        Pixmap::new(size.width(), size.height()).ok_or_else(|| Error::new("the drawing is too large for a picture"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
    picture.encode_png().map_err(|e| Error::new(format!("cannot write a picture: {e}")))
}
