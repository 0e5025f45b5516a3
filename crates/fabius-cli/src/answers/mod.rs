//! What commands answer with. The forms: text, lanes, the table of several files, JSON, SARIF, JUnit, DOT, pages. `give` prints
//! and writes those that the options ask for.

pub mod again;
pub mod checked;
pub mod decided;
pub mod documents;
pub mod dot;
pub mod give;
pub mod helps;
pub mod junit;
pub mod lanes;
pub mod messages;
pub mod natively;
pub mod page;
pub mod sarif;
pub mod several;
pub mod shown;
pub mod svcomp;
pub mod text;
